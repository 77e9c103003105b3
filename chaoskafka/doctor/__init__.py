"""What `chaoskafka doctor` examines: each thing is done for real in a throw-away place, and undone.

In: nothing but the machine and its engine. Out: findings, one per examination: ok, warning or missing, what was seen,
and the command that mends it. An examination is one function and one row of its module's EXAMINATIONS; its module is
imported only when its turn comes, so that a package that is missing is a finding and no traceback.

  here      this process and its machine: packages, directories, cores
  engine    the engine: what it is, its images, what dead runs left in it
  bed       the throw-away containers, network and volume that the others are done in
  patient   a container's life: start, network, volume, port, signals, pause, clock, room
  wires     the network of a container: drop, bandwidth, delay, queue, cutting connections
  inside    what is executed in the containers
  processes what runs without an engine need: Java, jars, namespaces
"""
