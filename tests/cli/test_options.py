"""How the texts of options are read."""

import pytest
import typer

from jitgrad.cli.options import choice, choices, rates
from jitgrad.optim import OPTIMIZERS


def test_choices_are_taken_in_any_case():
    assert choice(["sgd", "adam"], "").callback("Adam") == "adam"
    assert choice(["sgd", "adam"], "").callback(None) is None
    assert choices(["sgd", "adam"], "").callback(["ADAM, Sgd", "adam"]) == ["adam", "sgd"]
    assert rates("").callback(["RMSprop=0.5", "1e-3"]) == ["rmsprop=0.5", "0.001"]


@pytest.mark.parametrize(
    ("option", "value"), [(choice(OPTIMIZERS, ""), "Newton"), (choices(OPTIMIZERS, ""), ["sgd,Newton"]),
                          (rates(""), ["Newton=1"])],
)  # fmt: skip
def test_a_refused_choice_lists_the_choices(option, value):
    with pytest.raises(typer.BadParameter, match=f"'Newton' is not one of {', '.join(OPTIMIZERS)}$"):
        option.callback(value)
