"""Kafka's protocol, spoken directly: to one chosen broker, over a connection of our own.

In: questions (`asks`). Out: decoded answers, or NoAnswer. kio does the encoding; connections are ours, since a client
library chooses brokers by itself, retries, and hides what a single broker says.

frames     bytes of requests and answers; pure
asks       the questions we know, with the versions that we have tried
greeting   the first words on a connection: versions, and who we are; pure
batches    record batches as they lie in a log; pure
records    what the records of the metadata log say; pure
connection blocking, one question at a time
stream     for the observer: asyncio, prebuilt frames, instants of sending and receipt
"""
