"""Settings of dedicated controllers, against a scripted one: what is told of them, and what of a refusal."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from kio.schema.describe_configs.v4.response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kio.schema.errors import ErrorCode
from kio.static.primitive import i8, i32Timedelta
from scripted_broker import OFFERED, api_versions, body, scripted_broker

from chaoskafka.clock import MonotonicClock
from chaoskafka.cluster.abilities import Address
from chaoskafka.cluster.controllers import controller_settings, main
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.rehearsal import FAKE


def answering(error: ErrorCode, **settings: str | None) -> Callable[[int, int], bytes]:
    described = DescribeConfigsResponse(
        throttle_time=i32Timedelta.parse(timedelta(0)),
        results=(
            DescribeConfigsResult(
                error_code=error,
                error_message="not today" if error else None,
                resource_type=i8(4),
                resource_name="101",
                configs=tuple(
                    DescribeConfigsResourceResult(
                        name=name,
                        value=value,
                        read_only=True,
                        is_sensitive=value is None,
                        synonyms=(),
                        documentation=None,
                    )
                    for name, value in settings.items()
                ),
            ),
        ),
    )
    offered = {**OFFERED, 32: (1, 4)}
    return lambda key, _: body(api_versions(7, offered) if key == 18 else described)


def told(address: Address, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = main([json.dumps({"101": [address.host, address.port]})])
    return code, json.loads(capsys.readouterr().out)


def test_what_has_a_value_is_told_and_secrets_have_none(capsys: pytest.CaptureFixture[str]) -> None:
    with scripted_broker(answering(ErrorCode.none, roles="controller", password=None)) as address:
        assert told(address, capsys) == (0, {"settings": {"101": {"roles": "controller"}}})


def test_a_refusal_is_told_and_names_the_controller(capsys: pytest.CaptureFixture[str]) -> None:
    with scripted_broker(answering(ErrorCode.cluster_authorization_failed)) as address:
        problem = {"problem": "controller 101: cluster_authorization_failed: not today"}
        assert told(address, capsys) == (1, problem)


def test_so_is_a_controller_that_does_not_know_the_question(capsys: pytest.CaptureFixture[str]) -> None:
    with scripted_broker(lambda _, __: body(api_versions(7))) as address:
        code, said = told(address, capsys)
    assert code == 1
    assert "describe_configs" in said["problem"]


def test_the_fake_runtime_tells_too_and_a_combined_cluster_has_none_to_tell() -> None:
    for spec, expected in ((ClusterSpec(controllers=3, brokers=1), {101, 102, 103}), (ClusterSpec(nodes=1), set())):
        opens = FAKE.prepare(spec, lambda _: None, MonotonicClock())
        with opens(run_id="x", clock=MonotonicClock(), keep=False) as cluster:
            assert set(controller_settings(cluster, within_s=10, clock=MonotonicClock())) == expected
