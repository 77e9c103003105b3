"""What the README's figures come from: `python -m benchmarks.NAME`, or all of them by `make bench`.

Each module measures chaoskafka against what one would do without it, pair by pair, and leaves a file in results/.
Baselines are the documented commands with their default flags, never slowed. docs/benchmarks.md says what is compared.
"""
