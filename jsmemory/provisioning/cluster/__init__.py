"""
From an empty folder to everything that the nodes of an encrypted cluster are started with.

`memory.conf` is what all nodes have alike. `certificates` makes an authority and a certificate
for each node, `environment` the passwords and the key, `workers` puts together what was printed
for workers, and `folder` does all of it, as often as one likes, without losing anything.
"""

from jsmemory.provisioning.cluster.folder import PreparedCluster, prepare_cluster

__all__ = ["PreparedCluster", "prepare_cluster"]
