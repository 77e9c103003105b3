"""Entry of the `chaoskafka` command and of `python -m chaoskafka`.

The most general questions are answered here, from text: what reads command lines takes four times as long to import as
Python takes to start. All else is handed to `cli`; a test holds the text equal to what `cli` would say.
"""

import sys

from chaoskafka import __version__

HELP = """\
Usage: chaoskafka [OPTIONS] COMMAND [ARGS]...

  Chaos testing against real Apache Kafka: a verdict for each message,
  failover timed per partition.

Options:
  --version  Show it.
  --help     Show this message and exit.

Commands:
  run       Play scenarios on clusters started for them, judge them, report.
  check     Judge stored runs again, from their directories alone.
  report    Show stored runs as a page, a summary, a table or a trace.
  explain   Tell why a stored run is not green, or what became of a message.
  stats     Sum up the failover times of many runs, step by step.
  compare   Compare the failover times of two sets of runs.
  matrix    Play one scenario in many combinations, into one table.
  list      Show every word that scenarios can use, and the scenarios.
  validate  Load scenarios as a run would, and start nothing.
  heal      Take back what dead runs broke, and remove what they left...
  doctor    Try what a run needs here, and say what mends the rest.
  up        Start a cluster that stands until `down`, to look around by...
  status    Show a standing cluster, and what is left to undo in it.
  inject    Play one fault on a standing cluster, and heal it.
  down      Remove a standing cluster, whatever was broken in it.
  watch     Put load round what you do to a cluster, and judge it.
  image     The images that clusters start from.
  compose   Clusters as Compose files.
"""


def main() -> None:
    """Leaves by SystemExit, with an exit code of `errors.ExitCode`, unless all went well."""
    if sys.argv[1:] in (["--help"], ["--version"]):
        sys.stdout.write(f"{__version__}\n" if sys.argv[1:] == ["--version"] else HELP)
        return
    from chaoskafka import cli  # noqa: PLC0415 - only when it is needed

    cli.main()


if __name__ == "__main__":
    main()
