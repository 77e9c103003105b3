"""In place of a run's process: does what the name of its scenario says. In: an order. Out: lines as of a run."""

import json
import os
import signal
import subprocess
import sys
import threading
from types import FrameType

ORDER = json.loads(sys.stdin.read())


def say(**line: object) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def end(code: int) -> None:
    say(ended=code, run_dir=None, problem="" if code == 0 else f"ended {code}")
    sys.exit(0)


def asked_to_end(_: int, __: FrameType | None) -> None:
    end(130)


what = ORDER["path"]
if what in ("deaf", "survived"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
else:
    signal.signal(signal.SIGTERM, asked_to_end)
say(phase=1, name="load and plan")
say(note=f"seed {ORDER['seed']}")
match what:
    case "passes":
        end(0)
    case "fails":
        end(1)
    case "dies-early":
        os.kill(os.getpid(), signal.SIGKILL)
    case "dies-asking":
        say(phase=7, name="play the plan")
        os.kill(os.getpid(), signal.SIGKILL)
    case "crashes":
        raise RuntimeError("a bug")
    case "mute":
        sys.stdout.write("{half a line")
        sys.exit(0)
    case "survived":
        # By one that holds its output open, and that nobody here knows of.
        say(note=f"held by {subprocess.Popen(['sleep', '30']).pid}")
        say(phase=7, name="play the plan")
        threading.Event().wait(60)
    case _:
        say(phase=7, name="play the plan")
        threading.Event().wait(60)
