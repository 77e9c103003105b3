"""What a Kafka cluster is, whoever runs it: its spec, its settings, its abilities, and how to ask it things."""
