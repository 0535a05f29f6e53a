"""Rules about handles, plans, descriptors and programs of CUDA's libraries."""
