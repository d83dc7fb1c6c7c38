"""Cases whose values follow a trend over the years, which projections and searches share."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from slipstick.errors import DoubtfulRates, did_you_mean
from slipstick.expression.nodes import COUNT, TIME, TIME_PER_BYTE, parameters
from slipstick.late import Array, dataclass, replace
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Model
from slipstick.report.formatting import join_phrases, uncapitalized
from slipstick.results.words import as_words
from slipstick.schema.inputs import Inputs, resolve
from slipstick.schema.kinds.quantity import FOLLOWS_NOTHING, Given, validate
from slipstick.schema.library import TECHNOLOGY
from slipstick.schema.text import Mark, Node, Scalar, node_at, value_mark
from slipstick.study.cases import Place, StudyContext
from slipstick.study.evaluator import Evaluator, evaluator
from slipstick.vocabulary import TECHNOLOGIES
from slipstick_questions.saturation import unbounded
from slipstick_questions.years import year_text
from slipstick_rates.files import CORE, TrendSpec, trend_of
from slipstick_rates.series import LEAST_FITTED_POINTS, LEAST_FITTED_YEARS
from slipstick_rates.trend import (
    PROCESSORS,
    Draws,
    FollowedValue,
    SeriesRate,
    Trend,
    data_span,
    doubt_on_rate,
    periods_outside,
    reason_not_to_start,
)

_GAIN_KEYS = ("benefit", "fully", "partly")
"""What a trend may say of how the processors' gain is passed on."""

_PROCESSOR_PATHS = ("machine", "processors")

_SCALAR_ONE = Scalar(1, "1", Mark("trend", 1, 1), quoted=False)

_MOST_LISTED_ENDS = 2  # rates whose data end early that are told one by one

PARAMETER_PREFIX = "parameters."
"""What the paths of a model's parameters begin with."""


@dataclass(frozen=True, slots=True)
class TrendSettings:
    """A trend of a study, and the nodes that it sets in a case.

    Parameters
    ----------
    name, spec : of the trend
    nodes : what the trend sets, by path
    as_of : year whose knowledge is used; None is today's
    """

    name: str
    spec: TrendSpec
    nodes: Mapping[str, Node]
    as_of: float | None = None

    @property
    def title(self) -> str:
        """The title of the trend."""
        return self.spec.title or self.name

    def trend(self, kind: str = CORE, series_names: Collection[str] = ()) -> Trend:
        """Return the trend for a kind of processors, including the series that parameters
        follow.
        """
        return trend_of(self.spec, self.name, kind, self.as_of, series_names)


@dataclass(frozen=True, slots=True)
class TrendedCase:
    """A case some of whose values follow a trend over the years.

    Parameters
    ----------
    case : built with everything that the trend changes
    trend, base_year : the trend, and the year of the case's own values
    followers : the quantities that the trend changes, with the case's own values
    has_kind : whether its machine states the kind of its processors
    unfollowed : parameters that follow a technology for which the trend has no rate, each with the
        name of the technology
    """

    case: Evaluator
    trend: Trend
    base_year: float
    followers: tuple[FollowedValue, ...]
    has_kind: bool = True
    unfollowed: tuple[tuple[str, str], ...] = ()

    @property
    def with_mean_value_default(self) -> TrendedCase:
        """The case solved by mean value instead of simulation by default, for the thousands of
        points of a sample.
        """
        return replace(self, case=self.case.with_mean_value_default)

    def values(self, years: Array, draws: Mapping[str, Draws] | None = None) -> dict[str, Array]:
        """Return the values that the trend changes, by path, for each sample [samples x years].

        Parameters
        ----------
        years : to answer for
        draws : by name, as the trend draws them; as stated by default
        """
        values_by_path = self.trend.values(self.base_year, years, self.followers, draws)
        return {path: values.reshape(-1) for path, values in values_by_path.items()}

    @property
    def units(self) -> dict[str, str]:
        """The base units of the parameters that follow a rate, by path."""
        return {
            value.path: str(self.case.built.parameters[value.path].dimension)
            for value in self.followers
            if value.path.startswith(PARAMETER_PREFIX)
        }

    def columns(
        self, values: Mapping[str, Array], wanted: Collection[str] | None = None
    ) -> dict[str, Array]:
        """Return the answers at given values by name, and the values of parameters that follow a
        rate; times at a saturated resource are infinite.
        """
        answers = unbounded(self.case).columns(values, wanted)
        return answers | {path: values[path] for path in self.units}

    @property
    def classes_without_rate(self) -> tuple[str, ...]:
        """The classes of cost in the case for which the trend has no rate."""
        model = self.case.built.model
        technologies_used = model.technologies if isinstance(model, Model) else []
        classes_with_rate = set(self.trend.rates)
        if technologies_used and PROCESSORS in classes_with_rate:
            technology = self.case.inputs.checked_spec.technology
            classes_with_rate |= {*technology.fully, *technology.partly}
        return tuple(name for name in technologies_used if name not in classes_with_rate)

    @property
    def timed(self) -> Collection[str]:
        """The paths of the parameters that times depend on, without those that only amounts, such
        as a cost, depend on.
        """
        model = self.case.built.model
        if isinstance(model, Model | QueueingNetwork):
            return replace(model, amounts={}).parameters
        return ()

    @property
    def rates_of_amounts_alone(self) -> tuple[str, ...]:
        """The rates that change amounts only, such as a cost, and no time."""
        timed_paths = self.timed
        rates_of_times = {value.rate_name for value in self.followers if value.path in timed_paths}
        return tuple(
            name
            for name in self.trend.rates
            if name not in {*rates_of_times, *self.rates_without_effect}
        )

    @property
    def rates_without_effect(self) -> tuple[str, ...]:
        """The rates that no answer of the case depends on."""
        model = self.case.built.model
        # Compiling the model would load the libraries of arrays as its file is checked.
        has_parameters = isinstance(model, Model | QueueingNetwork)
        parameters_used = model.parameters if has_parameters else self.case.form.parameters
        rates_in_use = {
            value.rate_name for value in self.followers if value.path in parameters_used
        }
        return tuple(name for name in self.trend.rates if name not in rates_in_use)


def read_trend(
    name: str, place: Place, study: StudyContext, as_of: float | None = None
) -> TrendSettings:
    """Read the trend that a study names, as known in the year `as_of`.

    Raises
    ------
    SpecError : there is no such trend, or it is wrong
    """
    file = study.library.load(
        "trend", name, value_mark(study.tree, place), ".".join(map(str, place))
    )
    spec = validate(TrendSpec, file)
    shared_settings = {
        f"{TECHNOLOGY}.{key}": node
        for key in _GAIN_KEYS
        if (node := node_at(file, [key])) is not None
    }
    short_name = name.rpartition("/")[2].removesuffix(".yaml").removesuffix(".yml")
    if as_of is not None and spec.rates is not None:
        message = (
            f"trend {short_name} has rates without points, so nothing tells what was known in"
            f" {as_of:g}; name one of series"
        )
        raise study.refusal(("project", "as_of"), message)
    return TrendSettings(short_name, spec, shared_settings, as_of)


def kind_of_processors(inputs: Inputs) -> str:
    """Return the kind of the processors of a case, which determines the series that they follow;
    empty if its machine states no kind.
    """
    kind = node_at(inputs.tree, [*_PROCESSOR_PATHS, "kind"])
    return str(kind.value) if isinstance(kind, Scalar) else ""


def trended_case(
    case: str,
    asked_trend: TrendSettings,
    base_year: float,
    place: Place,
    study: StudyContext,
    further_series: Collection[str] = (),
) -> TrendedCase:
    """Build a case that follows a trend, with the case's own technology in the base year.

    Parameters
    ----------
    case : its name
    asked_trend, base_year : the trend, and the year of the case's own values
    place : where the base year stands
    study : the study
    further_series : series of other trends of the question, which parameters may name

    Raises
    ------
    SpecError : the case has no classes of cost and no parameter follows a series, a parameter
        states what no trend has, or the base year is outside the trend's periods
    """
    settings = study.cases[case]
    library = study.library
    inputs = resolve(settings, library)
    stated_followers = _stated_followers(inputs)
    has_classes = inputs.kind in ("program", "activity")
    if not has_classes and not stated_followers:
        message = (
            f"{case} has no classes of cost, so no trend changes it; project a program or an"
            " activity, or write in a parameter the technology that it follows"
        )
        raise study.refusal(place, message)
    series = list(dict.fromkeys([*asked_trend.spec.series, *further_series]))
    for path, following_quantity in stated_followers.items():
        _check_stated_technology(path, following_quantity, series, inputs.tree)
    technologies_named = {
        following_quantity.technology for following_quantity in stated_followers.values()
    } - {
        *TECHNOLOGIES,
        PROCESSORS,
    }
    kind = kind_of_processors(inputs)
    # In the order of the trend's file: draws and tables follow it.
    series_named = [name for name in asked_trend.spec.series if name in technologies_named]
    trend = asked_trend.trend(kind or CORE, series_named)
    classes = (
        [name for name in trend.rates if name not in technologies_named] if has_classes else []
    )
    trend = trend.with_rates(
        {
            *classes,
            *(following_quantity.technology for following_quantity in stated_followers.values()),
        }
    )
    added_nodes = {
        path: node for path, node in asked_trend.nodes.items() if node_at(inputs.tree, path) is None
    }
    added_nodes |= {
        path: _SCALAR_ONE
        for name in classes
        if node_at(inputs.tree, path := f"{TECHNOLOGY}.{name}") is None
    }
    case_evaluator = evaluator(case, {**settings, **(added_nodes if has_classes else {})}, library)
    followers = _list_followers(classes, stated_followers, trend, case_evaluator)
    if not followers:
        raise study.refusal(place, _reason_without_followers(case, trend, asked_trend.as_of))
    _check_followers(followers, trend, case_evaluator)
    followers_without_rate = tuple(
        (path, following_quantity.technology)
        for path, following_quantity in stated_followers.items()
        if following_quantity.technology not in trend.rates
    )
    track = TrendedCase(
        case_evaluator,
        trend,
        base_year,
        tuple(followers),
        not has_classes or bool(kind),
        followers_without_rate,
    )
    _check_base_year(track, place, study)
    return track


def _stated_followers(inputs: Inputs) -> dict[str, Given]:
    """Return the parameters that name a technology that they follow, by path."""
    return {
        f"{PARAMETER_PREFIX}{name}": stated_quantity
        for name, stated_quantity in getattr(inputs.checked_spec, "parameters", {}).items()
        if isinstance(stated_quantity, Given) and stated_quantity.technology
    }


def _list_followers(
    classes: Sequence[str],
    stated_followers: Mapping[str, Given],
    trend: Trend,
    case_evaluator: Evaluator,
) -> list[FollowedValue]:
    """List the quantities that follow a rate of a trend: the classes of cost, and the parameters
    that name a technology.
    """
    followers = [
        FollowedValue(
            path, case_evaluator.built.parameters[path].value or 1.0, name, name == PROCESSORS
        )
        for name in classes
        for path in [f"{TECHNOLOGY}.{name}"]
    ]
    return followers + [
        FollowedValue(
            path,
            stated_quantity.value,
            stated_quantity.technology,
            _is_multiplied(stated_quantity, trend),
        )
        for path, stated_quantity in stated_followers.items()
        if stated_quantity.technology in trend.rates
    ]


def _reason_without_followers(case: str, trend: Trend, as_of: float | None) -> str:
    """Return a message for a case in which no quantity follows a rate of the trend."""
    if as_of is None:
        return f"{case}: no parameter follows what {trend.name} has a rate of"
    return (
        f"{case}: with what was known in {as_of:g}, {trend.name} has no rate of a class that it"
        f" follows; a series needs {LEAST_FITTED_POINTS} points over {LEAST_FITTED_YEARS:g} years"
    )


def _check_stated_technology(
    path: str, stated_quantity: Given, series: Collection[str], tree: Node
) -> None:
    """Raise if the technology that a parameter names is neither a series nor a class of cost, or if
    its class leaves open whether the parameter rises.
    """
    name = stated_quantity.technology
    mark = value_mark(tree, f"{path}.technology")
    known_names = [*series, PROCESSORS, *TECHNOLOGIES, FOLLOWS_NOTHING]
    if name not in known_names:
        message = f"no trend here has a series {name!r}, and no class of cost is called so"
        raise mark.error(f"{message}{did_you_mean(name, known_names)}", f"{path}.technology")
    if name not in series and name != PROCESSORS and stated_quantity.dimension == COUNT:
        message = (
            f"{name} is a class of cost, whose times fall and rates rise; a plain number is"
            " neither: name the series that it follows"
        )
        raise mark.error(message, f"{path}.technology")


def _is_multiplied(stated_quantity: Given, trend: Trend) -> bool:
    """Return whether a parameter is multiplied by the gain of its rate, and not divided by it. It
    is multiplied if it follows a class of cost and is no time, or if larger values of its series
    are better.
    """
    rate = trend.rates[stated_quantity.technology]
    if stated_quantity.technology in (PROCESSORS, *TECHNOLOGIES) or not isinstance(
        rate, SeriesRate
    ):
        return stated_quantity.dimension not in (TIME, TIME_PER_BYTE)
    return not rate.fit.series.less_is_better


def _check_followers(
    followers: Sequence[FollowedValue], trend: Trend, case_evaluator: Evaluator
) -> None:
    """Raise if a parameter that follows a rate is part of the structure of the model, or of the
    time of a step that follows the same rate by its class.
    """
    model = case_evaluator.built.model
    for follower in followers:
        if not follower.path.startswith(PARAMETER_PREFIX):
            continue
        mark = value_mark(case_evaluator.inputs.tree, follower.path)
        if (
            follower.path not in case_evaluator.form.parameters
            and not case_evaluator.built.can_vary([follower.path])
        ):
            message = (
                "a projection does not change it: it shapes the structure of the model, or nothing"
                " is computed from it; leave technology out"
            )
            raise mark.error(message, follower.path)
        key = trend.draw_key_by_rate[follower.rate_name]
        for step in model.steps if isinstance(model, Model) else ():
            names = {parameter.name for parameter in parameters(step.time)}
            if follower.path in names and trend.draw_key_by_rate.get(step.technology) == key:
                message = (
                    f"step {step.name} follows {step.technology} already, so that its time would"
                    " change twice; leave technology out of the parameter, or write another one in"
                    " the step"
                )
                raise mark.error(message, follower.path)


def _check_base_year(track: TrendedCase, place: Place, study: StudyContext) -> None:
    """Raise if a rate that the case depends on has no value in its base year."""
    for name in track.trend.rates:
        message = reason_not_to_start(track.trend, name, track.base_year)
        if message and name not in track.rates_without_effect:
            raise study.refusal(place, message)


def last_years_of_data(
    track: TrendedCase, rates_without_effect: Collection[str]
) -> dict[str, float]:
    """Return the last year of the data that end before the base year of a case, by class of cost or
    title of the series.

    The rate of the last year is carried on from there, and its band grows from there.

    Parameters
    ----------
    track : the case
    rates_without_effect : rates that change no requested value
    """
    last_years = {
        rate.fit.series.title if isinstance(rate, SeriesRate) else name: data_span(rate)[1]
        for name, rate in track.trend.rates.items()
        if name not in rates_without_effect
    }
    return {
        data_title: last_year
        for data_title, last_year in last_years.items()
        if last_year < track.base_year
    }


def ended_data_text(base_year: float, last_years: Mapping[str, float]) -> str:
    """Return a sentence on the data that end before a base year: all of them if they are few, else
    the first.

    >>> ended_data_text(2026, {"one thread": 2021, "the wire": 2024})
    'the data of these rates end before the base year 2026: one thread (2021) and the wire (2024)'
    """
    before_base_year = f"before the base year {year_text(base_year)}"
    sorted_years = sorted(last_years.items(), key=lambda item: item[1])
    data_title, last_year = sorted_years[0]
    if len(sorted_years) > _MOST_LISTED_ENDS:
        return (
            f"the data of {len(sorted_years)} rates end {before_base_year}, the first in"
            f" {year_text(last_year)}"
            f" ({uncapitalized(data_title)})"
        )
    data_with_years = join_phrases(
        [
            f"{uncapitalized(data_title)} ({year_text(last_year)})"
            for data_title, last_year in sorted_years
        ]
    )
    subject = "these rates" if len(sorted_years) > 1 else "this rate"
    return f"the data of {subject} end {before_base_year}: {data_with_years}"


def rates_outside_periods(
    trend: Trend, base_year: float, years: Sequence[float] | Array
) -> tuple[str, ...]:
    """List the rates of a trend that are used outside their periods, between the base year and the
    given years.
    """
    first_year = float(min(base_year, *years))
    last_year = float(max(base_year, *years))
    return tuple(
        f"{name} ({period.start:g} to {period.end:g})"
        for name, rate in trend.rates.items()
        for period, _, _ in periods_outside(rate, first_year, last_year)
    )


def doubts_on_rates(
    track: TrendedCase, years: Sequence[float] | Array, value_names: Collection[str]
) -> tuple[DoubtfulRates, ...]:
    """Return the rates that are guesses or of weak series and that change one of the given values
    of a case in the years. Return also a sentence on the data that end before its base year.
    """
    has_amounts = any(name.startswith((PARAMETER_PREFIX, "amount[")) for name in value_names)
    rates_without_effect = {
        *track.rates_without_effect,
        *(() if has_amounts else track.rates_of_amounts_alone),
    }
    first_year = float(min(track.base_year, *years))
    last_year = float(max(track.base_year, *years))
    titles_by_doubt: dict[str, list[str]] = {}
    for name, rate in track.trend.rates.items():
        doubt = doubt_on_rate(rate, first_year, last_year)
        if doubt and name not in rates_without_effect:
            title = rate.fit.series.title if isinstance(rate, SeriesRate) else as_words(name)
            titles_by_doubt.setdefault(doubt, []).append(title)
    plurals = {"guess": "guesses"}
    ended_years = {
        as_words(data_title): data_end
        for data_title, data_end in last_years_of_data(track, rates_without_effect).items()
    }
    return (
        *(
            DoubtfulRates(
                f"{plurals.get(doubt, doubt)}: {', '.join(titles)}",
                titles=frozenset(map(as_words, titles)),
            )
            for doubt, titles in titles_by_doubt.items()
        ),
        *(
            [
                DoubtfulRates(
                    ended_data_text(track.base_year, ended_years), titles=frozenset(ended_years)
                )
            ]
            if ended_years
            else []
        ),
    )


def machine_year(case: str, study: StudyContext) -> float | None:
    """Return the year of the machine of a case; None if the machine has no year."""
    node = node_at(resolve(study.cases[case], study.library).tree, ["machine", "year"])
    is_number = isinstance(node, Scalar) and isinstance(node.value, int | float)
    return float(node.value or 0) if isinstance(node, Scalar) and is_number else None


def base_year_of_case(
    case: str, given_year: float | None, place: Place, study: StudyContext
) -> float:
    """Return the base year of a case: the given year, else the year of its machine.

    Raises
    ------
    SpecError : neither tells it
    """
    if given_year is not None:
        return given_year
    own_year = machine_year(case, study)
    if own_year is not None:
        return own_year
    tree = resolve(study.cases[case], study.library).tree
    title = node_at(tree, ["machine", "title"])
    machine = f"its machine ({title.text})" if isinstance(title, Scalar) else "its machine"
    message = f"{case}: {machine} has no year; write base_year, or year in the machine"
    raise study.refusal(place, message)
