from __future__ import annotations

import random

import pytest
import yaml
from omegaconf import OmegaConf

from autotune.config.compose import to_yaml_dict
from autotune.config.environment import without_secrets, written

SECRET = "hunter2-and-more"


@pytest.mark.parametrize(
    "name",
    ["DB_PASSWORD", "HUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "MYSQL_PWD", "api_key", "CREDENTIALS", "WANDB_API_KEY"],
)
def test_a_variable_that_says_so_is_a_secret(name):
    assert written(SECRET, {name: SECRET}) == f"${{oc.env:{name}}}"
    assert written(f"https://me:{SECRET}@host", {name: SECRET}) == f"https://me:${{oc.env:{name}}}@host"
    assert without_secrets(f"a={SECRET} b={SECRET}", {name: SECRET}) == f"a=${name} b=${name}"


@pytest.mark.parametrize(
    "name", ["HOME", "PWD", "KEYBOARD", "DATA_DIR", "MONKEY", "SSH_AUTH_SOCK", "TOKENIZERS_PARALLELISM"]
)
def test_other_variables_are_not(name):
    assert written(SECRET, {name: SECRET}) == SECRET


def test_a_short_value_is_found_everywhere_and_so_left_alone():
    assert written("sgd", {"DEBUG_KEY": "sgd"}) == "sgd"


def test_a_secret_within_another_is_told_by_the_longer():
    assert written("secret-long", {"A_TOKEN": "secret", "B_TOKEN": "secret-long"}) == "${oc.env:B_TOKEN}"


def test_whatever_the_text_it_composes_to_itself(monkeypatch):
    monkeypatch.setenv("ODD_PASSWORD", "s3cr\\et${x}")
    monkeypatch.setenv("HUB_TOKEN", "tokentoken")
    atoms = ["\\", "\\\\", "${", "$", "{", "}", "oc.env:HOME}", "s3cr\\et${x}", "tokentoken", " ", "'", '"', ":", "a"]
    draw = random.Random(0)
    for _ in range(2000):
        text = "".join(draw.choices(atoms, k=draw.randint(0, 8)))
        assert OmegaConf.create({"x": written(text)}).x == text


def test_a_secret_from_the_environment_is_in_no_file_and_still_in_force(compose, monkeypatch):
    monkeypatch.setenv("DB_PASSWORD", SECRET)
    monkeypatch.setenv("DATA_HOME", "/data")
    config = compose("+data.args.password=${oc.env:DB_PASSWORD}", "+data.args.home=${oc.env:DATA_HOME}")
    assert config.data.args == {"password": SECRET, "home": "/data"}
    text = yaml.safe_dump(to_yaml_dict(config))
    assert SECRET not in text
    assert "${oc.env:DB_PASSWORD}" in text
    assert OmegaConf.create(text).data.args == config.data.args
