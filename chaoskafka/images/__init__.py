"""Images that containers of a cluster under test start from, built on this machine: no image registry is needed.

In: recipes (in the package, so that an installed wheel can build), Debian packages, jars, wheels, each by its ordinary
client. Out: images in the engine. All share one root file system (`base`):

  kafka    chaoskafka/kafka:4.2.2-HASH    same layout, KAFKA_* variables and user as the official apache/kafka
  toolbox  chaoskafka/toolbox:0.1.0-HASH  nft, iptables, ip, tc, ss, Python: owns a node's address, changes its network
  client   chaoskafka/client:0.1.0-HASH   Python with our wheels: workers and probes

HASH is that of the image's recipe, also kept as a label: an unchanged one is recognised at once, a changed one is built
beside the one before it.
"""

from chaoskafka.images.build import build, ensure, listed, outdated, prune
from chaoskafka.images.engine import open_engine
from chaoskafka.images.recipe import ImageSet, Kind, Recipe, kafka_versions, recipe_of

__all__ = [
    "ImageSet",
    "Kind",
    "Recipe",
    "build",
    "ensure",
    "kafka_versions",
    "listed",
    "open_engine",
    "outdated",
    "prune",
    "recipe_of",
]
