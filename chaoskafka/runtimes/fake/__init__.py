"""A cluster in memory, behind the same contracts as a real one: for tests, and to rehearse a scenario in seconds.

No Kafka is involved. Brokers answer Kafka's protocol on loopback ports, so that whoever asks a real broker can ask one
of these; clients are threads that run the real workers' loops. It can be told to lie (`lies.py`), which no real Kafka
can, so that a test sees each check notice what it is there for.
"""
