"""`python -m chaoskafka`: the command line, for where its script is not on the PATH."""

from chaoskafka.cli import main

main()
