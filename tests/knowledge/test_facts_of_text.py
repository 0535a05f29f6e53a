"""What a text tells of the machine decides between causes, and says nothing where it is not certain."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuvet.fields import TextError
from cuvet.image.compatibility import architecture
from cuvet.knowledge.facts_of_text import FACTS, _models, fact_named, facts_of, gpus_in
from cuvet.knowledge.reading import causes_in


@pytest.mark.parametrize(
    ("text", "capability"),
    [
        ("nvidia geforce gtx 1070", 61),
        ("geforce gtx1080ti", 61),
        ("quadro k2000", 30),
        ("tesla k80", 37),
        ("gtx 750 ti", 50),
        ("gtx 780", 35),
        ("gtx 770", 30),
        ("gt 740", 30),
        ("gtx 970m", 50),
        ("gtx 980 ti", 52),
        ("tesla v100-sxm2-32gb", 70),
        ("quadro rtx 4000", 75),
        ("rtx 4000 ada", 89),
        ("nvidia rtx a6000", 86),
        ("nvidia geforce rtx 3090", 86),
        ("nvidia l4", 89),
        ("nvidia h200", 90),
        ("rtx 5090d", 120),
    ],
)
def test_a_gpu_is_known_by_its_name(text: str, capability: int) -> None:
    assert set(gpus_in(text).values()) == {capability}


@pytest.mark.parametrize(
    "text", ["commit k80a1", "sm_a100", "gtx 10", "rtx", "a10 of b", "layer l4 of 12", "jetson-h100x"]
)
def test_what_only_looks_like_a_gpu_is_none(text: str) -> None:
    assert gpus_in(text) == {}


def test_the_capability_of_each_name_is_one_of_the_table() -> None:
    assert all(architecture(sm) is not None for _, sm in _models())


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        ("gpu-dropped", "nvidia-smi 470.141.03 driver version: 470.141.03 cuda version: 11.4\nquadro k2000"),
        ("gpu-dropped", "tesla k80"),
        ("gpu-dropped", "tesla v100 with cuda 13.0"),
        ("gpu-newer-than-toolkit", "rtx 4090 with cuda 11.7"),
        ("gpu-newer-than-toolkit", "rtx 5090, torch 2.5.1+cu124"),
        ("driver-new-enough", "driver version: 550.54.14, torch 2.4.0+cu121"),
        ("driver-new-enough", "nvidia-smi 580.65.06 driver version: 580.65.06 cuda version: 13.0 | image cuda 12.8"),
        ("cudnn-newer-than-gpu", "gtx 1070, nvidia-cudnn-cu12 9.14.0.64"),
        ("cudnn-may-be-newer-than-gpu", "gtx 1070\ncudnn failure 5000: cudnn_status_execution_failed"),
        ("gpu-of-others", "graphics mesa intel xe graphics (tgl gt2)"),
        ("gpu-of-others", "00:02.0 vga compatible controller: advanced micro devices, inc. [amd/ati] navi 21"),
    ],
)
def test_a_fact_is_told(fact: str, text: str) -> None:
    assert fact in facts_of(text)
    assert facts_of(text)[fact] in text


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        ("gpu-dropped", "tesla v100"),
        ("gpu-dropped", "tesla v100 with cuda 12.8"),
        ("gpu-dropped", "rtx 3090 with cuda 13.0"),
        ("gpu-dropped", "quadro k2000 and rtx 3090, cuda 11.4"),
        ("gpu-dropped", "cuda 13.0"),
        ("gpu-newer-than-toolkit", "rtx 4090 with cuda 12.1"),
        ("gpu-newer-than-toolkit", "rtx 4090"),
        ("gpu-newer-than-toolkit", "rtx 4090, cuda 11.7 and cuda 12.4"),
        ("driver-new-enough", "driver version: 550.54.14"),
        ("driver-new-enough", "driver version: 550.54.14, torch 2.9.0+cu130"),
        ("driver-new-enough", "nvidia-smi 550.54.14 driver version: 550.54.14 cuda version: 12.4"),
        ("driver-new-enough", "cuda 12.1"),
        ("cudnn-newer-than-gpu", "gtx 1070\ncudnn failure 5000"),
        ("cudnn-may-be-newer-than-gpu", "gtx 1070, cudnn 9.10.2"),
        ("cudnn-may-be-newer-than-gpu", "gtx 1070, cudnn 7.6.5"),
        ("cudnn-may-be-newer-than-gpu", "rtx 3090, cudnn 9.14.0"),
        ("cudnn-may-be-newer-than-gpu", "cudnn 9.14.0"),
        ("gpu-of-others", "graphics: mesa intel uhd 620 / nvidia geforce mx150"),
        ("gpu-of-others", "graphics: intel uhd 620\nrtx 3060 laptop"),
        ("gpu-of-others", "core i7, an intel cpu"),
    ],
)
def test_a_fact_is_not_told(fact: str, text: str) -> None:
    assert fact not in facts_of(text)


def test_an_expression_in_brackets_names_a_fact() -> None:
    assert fact_named("<gpu-dropped>") == "gpu-dropped"
    assert fact_named("gpu-dropped") is None
    assert fact_named("(?<![a-z])gpu>?") is None
    assert set(FACTS) == {name for name in FACTS if fact_named(f"<{name}>") == name}


def test_a_fact_that_does_not_exist_is_a_mistake(tmp_path: Path) -> None:
    file = tmp_path / "machine.txt"
    file.write_text("## a-rule\nwords: `<gpu-lost>`\n")
    with pytest.raises(TextError, match=r"machine.txt, a-rule: `gpu-lost` is none of driver-new-enough, gpu-dropped"):
        causes_in(file)
