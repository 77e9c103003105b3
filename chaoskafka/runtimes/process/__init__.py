"""Kafka as processes of this machine, each node in a network namespace of its own: no engine, no images, no root.

One way for root and everybody else: a user namespace in which we are root, with a network, a mount and a process
namespace. Its first process is the *supervisor* (`supervisor.py`); when it ends, the kernel ends all that is in there,
and takes the networks with it. It ends when the harness lets go of one socket, as the kernel does for a harness that
was killed.

Where namespaces are forbidden there is a lesser way, the runtime `process-plain`: the supervisor is a plain process,
and all stand on the loopback. Whatever changes a network cannot be done there.

  layout      who has which address and which directory; pure
  network     the text of the commands that make the networks; pure
  supervisor  the program inside: starts, signals and watches processes, relays the harness's connections
  control     the harness's end of it
  plain       a node's abilities, by signals
  node        those that a namespace adds, by rules
  clients     places for workers and the observer
  open        a cluster from a spec
  sweep       what dead runs left
"""
