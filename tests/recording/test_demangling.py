"""Names of C++, also such as somebody made to exhaust the demangler."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cuvet.recording import symbols
from cuvet.recording.symbols import demangle

BOMB = """
def bomb(doublings):
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    number = lambda n: digits[n] if n < 36 else number(n // 36) + digits[n % 36]
    return "_Z1f1aIiiE" + "".join(f"S_IS{number(n)}_S{number(n)}_E" for n in range(doublings))
"""
"""``f(a<int, int>, a<a<int, int>, a<int, int> >, …)``: each parameter is twice as long as the one before."""
space: dict[str, str] = {}
exec(BOMB, space)
bomb = space["bomb"]


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> symbols._Demangler:
    """A demangler that has seen no name yet."""
    demangler = symbols._Demangler()
    monkeypatch.setattr(symbols, "_demangler", demangler)
    demangle.cache_clear()
    yield demangler
    demangler.close()
    demangle.cache_clear()


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZN2ns5Owner7releaseEPi", "ns::Owner::release"),
        ("_Z5scaleIfLi4EEvPT_S1_", "scale<float, 4>"),
        ("_ZN12_GLOBAL__N_14stepERKSt6vectorIfSaIfEE", "(anonymous namespace)::step"),
        ("_ZN1AplERKS_", "A::operator+"),
        ("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()"),
        ("_Z3fooIJiifEEvDpT_", "foo<int, int, float>"),
        ("main", "main"),
        ("main.cold", "main"),
        ("release.part.0.isra.1.cold", "release"),
        ("_Z7releasei.part.0", "release"),
        ("release.all", "release.all"),
        ("_Zmumble", "_Zmumble"),
        ("_Z1f\n_Z1g", "_Z1f\n_Z1g"),
        ("_Z\udc80", "_Z\udc80"),
        (bomb(4), "f"),
        ("_ZN4mgpu8launch_kINS_5box_tIJNS_6arch_2", "mgpu::launch_k<…>"),
        ("_ZN12_GLOBAL__N_15scaleIf", "(anonymous namespace)::scale<…>"),
        ("_Z5scaleIf", "scale<…>"),
        ("_ZN4mgpu8launch_k", "_ZN4mgpu8launch_k"),
        ("_ZN4mg\x1bu8launch_kIf", "_ZN4mg\x1bu8launch_kIf"),
        ("_ZN9999launch_kIf", "_ZN9999launch_kIf"),
    ],
)
def test_names(symbol: str, name: str) -> None:
    assert demangle(symbol) == name


@pytest.mark.parametrize(
    ("symbol", "types"),
    [
        ("_Z5scalePffi", ("float*", "float", "int")),
        ("_Z1fSt4pairIifEPKc", ("std::pair<int, float>", "char const*")),
        ("_Z1fPFviEi", ("void (*)(int)", "int")),
        ("_Z1fv", ("",)),
        ("_ZNK1A1gEi", ()),  # "const" stands after its parameters
        ("_ZN1A1xE", ()),
        ("scale", ()),
    ],
)
def test_the_types_of_parameters(symbol: str, types: tuple[str, ...]) -> None:
    assert symbols.parameter_types(symbol) == types


def test_a_long_name_of_many_parts_is_demangled() -> None:
    symbol = f"_Z1fI{''.join(f'4k{n:03}' for n in range(160))}EvT_"
    assert demangle(symbol) == f"f<{', '.join(f'k{n:03}' for n in range(160))}>"


def test_a_name_that_stands_for_too_much_stays_as_it_is(fresh: symbols._Demangler) -> None:
    assert [demangle(bomb(n)) for n in (18, 27)] == [bomb(18), bomb(27)]
    assert demangle(bomb(3)) == "f"
    assert 0 < fresh.starts <= 2


def test_an_ordinary_name_needs_no_other_process(fresh: symbols._Demangler) -> None:
    assert demangle("_ZNSt6vectorIfSaIfEE9push_backERKf") == "std::vector<float, std::allocator<float> >::push_back"
    assert fresh.starts == 0


@pytest.mark.parametrize("symbol", ["_Z3fooIJiifEEvDpT_", bomb(3), f"_Z1f{'1a' * 255}"])
def test_a_name_with_packs_or_many_references_or_of_great_length_does(fresh: symbols._Demangler, symbol: str) -> None:
    assert demangle(symbol) == ("foo<int, int, float>" if "foo" in symbol else "f")
    assert fresh.starts == 1


def test_many_such_names_end_the_work(fresh: symbols._Demangler) -> None:
    for n in range(30, 40):
        assert demangle(bomb(n)) == bomb(n)
    assert fresh.starts == symbols.MOST_STARTS
    assert [demangle(bomb(3)), demangle("_Z1gv")] == [bomb(3), "g"]


def test_such_a_name_takes_little_memory() -> None:
    program = f"""
import resource
from cuvet.recording import symbols
{BOMB}
assert symbols.demangle(bomb(27)) == bomb(27)
symbols._demangler.close()
own = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
"""  # RUSAGE_SELF knows of the process that started this one, too
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 256 << 10
