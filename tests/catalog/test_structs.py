from __future__ import annotations

import pytest

from cuvet.catalog import driver, runtime

NODE = "CUDA_MEM_ALLOC_NODE_PARAMS"


def test_members_are_read_where_they_were_put() -> None:
    data = driver().pack(NODE, {"poolProps.location.id": 3, "bytesize": 1 << 40, "dptr": -1})
    assert len(data) == driver().struct(NODE).bytes
    assert driver().member(NODE, data, "poolProps.location.id") == 3
    assert driver().member(NODE, data, "bytesize") == 1 << 40
    assert driver().member(NODE, data, "dptr") == 0xFFFFFFFFFFFFFFFF
    assert driver().member(NODE, data, "poolProps.location.type") == 0


def test_a_member_can_be_named_as_a_keyword() -> None:
    assert driver().pack(NODE, {"poolProps__location__id": 3}) == driver().pack(NODE, {"poolProps.location.id": 3})


def test_what_is_not_named_stays() -> None:
    before = driver().pack(NODE, {"bytesize": 64})
    after = driver().pack(NODE, {"dptr": 5}, data=before)
    assert (driver().member(NODE, after, "bytesize"), driver().member(NODE, after, "dptr")) == (64, 5)


def test_bytes_are_cut_and_filled_to_the_member() -> None:
    layout = runtime().struct("cudaDeviceProp", "12.9")
    offset, size, _ = layout.fields["name"]
    data = runtime().pack("cudaDeviceProp", {"name": b"x" * 1000}, "12.9")
    assert data[offset : offset + size] == b"x" * size
    assert len(data) == layout.bytes
    assert not any(runtime().pack("cudaDeviceProp", {"name": b""}, "12.9"))


def test_bytes_that_do_not_reach_a_member_are_refused() -> None:
    with pytest.raises(IndexError, match="dptr"):
        driver().member(NODE, bytes(8), "dptr")


def test_a_struct_without_such_a_member() -> None:
    with pytest.raises(KeyError, match="nonsense"):
        driver().pack(NODE, {"nonsense": 1})


def test_names_of_numbers() -> None:
    assert driver().enumerator("CUmem_advise", 1) == "CU_MEM_ADVISE_SET_READ_MOSTLY"
    assert driver().enumerator("CUmem_advise", 1, "CU_MEM_ADVISE_") == "SET_READ_MOSTLY"
    assert driver().enumerator("CUmem_advise", 99) == ""
