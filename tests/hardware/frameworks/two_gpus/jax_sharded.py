"""JAX shards an array over two GPUs: a sum over devices, and a gradient of a sharded matrix product."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

mesh = Mesh(np.array(jax.devices()[:2]), ("data",))
rows = NamedSharding(mesh, PartitionSpec("data"))
array = jax.device_put(jnp.arange(1024, dtype=jnp.float32).reshape(64, 16), rows)
weights = jax.device_put(jnp.ones((16, 4), jnp.float32), NamedSharding(mesh, PartitionSpec()))
loss = jax.jit(lambda weights, array: jnp.mean((array @ weights) ** 2))
gradient = jax.jit(jax.grad(loss))(weights, array)
print(f"sum {float(jnp.sum(array)):.1f} loss {float(loss(weights, array)):.1f} gradient {float(jnp.sum(gradient)):.1f}")
