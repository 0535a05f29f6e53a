"""JAX: jit, grad, vmap and a scan on the GPU."""

import jax
import jax.numpy as jnp

f = jax.jit(lambda w, x: jnp.tanh(x @ w).sum())
w, x = jnp.ones((32, 32)) * 0.01, jnp.ones((8, 32))
print("value", f"{float(f(w, x)):.4f}", "grad", f"{float(jax.grad(f)(w, x).sum()):.4f}")
total, _ = jax.lax.scan(lambda c, v: (c + v, c), 0.0, jnp.arange(100.0))
print("scan", float(total), "batched", f"{float(jax.vmap(jnp.sum)(x).sum()):.1f}")
