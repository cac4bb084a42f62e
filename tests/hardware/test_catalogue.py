"""The bundled profiles, read one by one."""

from __future__ import annotations

import pytest

from autotune.errors import HardwareError
from autotune.hardware.catalogue import bundled, bundled_profiles


def test_each_profile_is_named_as_its_file_and_auto_is_none_of_them() -> None:
    names = [profile.name for profile in bundled_profiles()]
    assert names == sorted(names)
    assert len(names) > 30
    assert "auto" not in names
    assert all(bundled(name).name == name for name in names)


@pytest.mark.parametrize("name", ["auto", "rtx2061", "../model/cifar_mlp"])
def test_no_other_name_is_a_profile(name: str) -> None:
    with pytest.raises(HardwareError, match="a profile must be one of a10, "):
        bundled(name)
