"""A hundred modules of dpnp, which have all the features of its thousands between them, compile."""

from __future__ import annotations

import platform

import pytest

from groundstate.survey.files import Collection, collect
from groundstate.survey.trial import compile_module
from tests.survey.modules import kernel
from tests.survey.recipes import WHEELS, Recipe, features, recipes

RECIPES = recipes()


@pytest.fixture(scope="module")
def shipped() -> Collection:
    wheels = sorted(WHEELS.glob("dpnp-0.20.0-*.whl"))
    if not wheels:
        if platform.machine() != "x86_64":
            pytest.skip("dpnp has no wheel for this machine")
        pytest.skip("the wheel of dpnp is not there: make .venv/wheels/.downloaded")
    return collect(wheels)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.digest[:12])
def test_a_module_that_ships_compiles(recipe: Recipe, shipped: Collection) -> None:
    found = shipped.modules[recipe.digest]
    assert found.file.endswith(f"!{recipe.file}")
    assert set(recipe.covers) <= features(found.data)
    outcome = compile_module([found.data], (16, 1), {})
    assert (outcome.result, outcome.sentence) == ("compiled", "")
    assert recipe.kernel in outcome.kernels


def test_the_hundred_are_spread_over_features() -> None:
    assert len({recipe.digest for recipe in RECIPES}) == 100
    assert len({recipe.file for recipe in RECIPES}) >= 6
    assert len({feature for recipe in RECIPES for feature in recipe.covers}) >= 200


def test_features_name_instructions_and_types() -> None:
    assert {"Store", "Constant i32", "capability Kernel"} <= features(kernel("k", 1))
