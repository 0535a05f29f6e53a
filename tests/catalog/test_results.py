from __future__ import annotations

from cuvet.catalog import driver, results


def test_the_numbers_are_those_of_the_headers() -> None:
    named = {name: value for name, value in vars(results).items() if name.isupper()}
    known = driver().enumerations["CUresult"]
    assert named == {name: known["CUDA_SUCCESS" if name == "SUCCESS" else f"CUDA_ERROR_{name}"] for name in named}
