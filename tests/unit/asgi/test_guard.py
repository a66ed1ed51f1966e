"""Who gets what the plugin answers itself, and who may settle without a token."""

from __future__ import annotations

import pytest
from http_kit import METRICS, NEXT, PROGRESS, Agent, a_site, click, exchange, in_process
from pydantic import SecretStr

from otel_validation.asgi.guard import CREDENTIALS_A_SESSION, Guard

pytestmark = pytest.mark.anyio


def scope(**headers: str) -> dict:
    return {"headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]}


class TestGuard:
    async def test_the_credentials_of_an_answered_poll_are_remembered_by_session(self):
        guard = Guard()
        assert not await guard.allows("s", scope())
        guard.learn("s", scope(authorization="Bearer a"))
        assert await guard.allows("s", scope(authorization="Bearer a"))
        for other in (scope(), scope(authorization="Bearer b"), scope(x_api_key="Bearer a"), scope(cookie="Bearer a")):
            assert not await guard.allows("s", other)
        assert not await guard.allows("other", scope(authorization="Bearer a"))

    async def test_a_poll_without_credentials_counts_where_the_host_answered_it(self):
        guard = Guard()
        guard.learn("s", scope())
        assert await guard.allows("s", scope(accept="*/*"))
        assert not await guard.allows("s", scope(authorization=""))

    async def test_a_cookie_is_a_credential_where_there_is_no_other(self):
        guard = Guard()
        guard.learn("s", scope(cookie="a=1"))
        assert await guard.allows("s", scope(cookie="a=1"))
        assert not await guard.allows("s", scope(cookie="a=2"))
        assert not await guard.allows("s", scope())

    async def test_a_load_balancers_cookie_beside_a_token_changes_nothing(self):
        guard = Guard()
        guard.learn("s", scope(authorization="Bearer a"))
        assert await guard.allows("s", scope(authorization="Bearer a", cookie="AWSALB=1"))

    async def test_several_credentials_of_a_session_are_remembered_and_not_without_limit(self):
        guard = Guard()
        for number in range(CREDENTIALS_A_SESSION + 1):
            guard.learn("s", scope(authorization=f"Bearer {number}"))
        assert not await guard.allows("s", scope(authorization="Bearer 0"))
        assert await guard.allows("s", scope(authorization="Bearer 1"))
        guard.learn("s", scope(authorization="Bearer 1"))
        guard.learn("s", scope(authorization="Bearer 9"))
        assert await guard.allows("s", scope(authorization="Bearer 1"))

    async def test_two_parts_cannot_be_taken_for_one(self):
        guard = Guard()
        guard.learn("s", scope(authorization="a", x_api_key="b"))
        assert not await guard.allows("s", scope(authorization="ab", x_api_key=""))

    async def test_a_token_replaces_what_was_learned(self):
        guard = Guard(SecretStr("geheim"))
        guard.learn("s", scope())
        assert not await guard.allows("s", scope())
        for given in ("Bearer geheim", "bearer geheim"):
            assert await guard.allows("any", scope(authorization=given))
        for given in ("Bearer geheim2", "geheim", "Bearer ", "Basic geheim", "bearer GEHEIM"):
            assert not await guard.allows("any", scope(authorization=given))

    async def test_the_hook_decides_where_it_is_given(self):
        async def authorize(request: dict) -> bool:
            return request["headers"] == []

        guard = Guard(SecretStr("geheim"), authorize)
        assert await guard.allows("s", scope())
        assert not await guard.allows("s", scope(authorization="Bearer geheim"))
        assert await guard.allows_operator({"headers": [], "client": ("8.8.8.8", 1)})

    @pytest.mark.parametrize(
        ("client", "allowed"),
        [
            (("127.0.0.1", 1), True),
            (("::1", 1), True),
            (("10.0.0.1", 1), False),
            (("testclient", 1), False),
            (None, False),
        ],
    )
    async def test_an_operator_is_on_loopback_where_no_token_is_set(self, client, allowed):
        assert await Guard().allows_operator({"headers": [], "client": client}) is allowed

    async def test_an_operator_bears_the_token_where_one_is_set(self):
        guard = Guard(SecretStr("t"))
        assert not await guard.allows_operator({"headers": [], "client": ("127.0.0.1", 1)})
        assert await guard.allows_operator({**scope(authorization="Bearer t"), "client": ("10.0.0.1", 1)})


class TestThroughThePlugin:
    async def test_another_credential_gets_no_resend_burns_no_attempt_and_hears_what_to_do(self):
        site = a_site()
        site.queue(click())
        async with in_process(site.app) as client:
            owner, other = Agent(client, headers={"authorization": "Bearer a"}), Agent(client)
            await owner.poll()
            site.clock.advance(31)
            for _ in range(3):
                refused = await other.ask()
                assert refused.status_code == 401
                assert "RPA_API_TOKEN" in refused.json()["detail"]
            assert (await owner.poll())["delivery"]["attempt"] == 2

    async def test_refused_polls_do_not_keep_a_dead_agents_action_alive(self):
        site = a_site()
        site.queue(click())
        async with in_process(site.app) as client:
            await Agent(client, headers={"x-api-key": "a"}).poll()
            for _ in range(20):
                site.clock.advance(5)
                assert (await Agent(client).ask()).status_code == 401
        assert site.plugin.counters.snapshot()["orphans_giveup_total"] == 1

    async def test_a_report_without_a_token_needs_the_credentials(self):
        site = a_site()
        site.queue(click())
        async with in_process(site.app) as client:
            owner, other = Agent(client, headers={"x-api-key": "a"}), Agent(client)
            await owner.poll()
            assert (await other.report())["status"] == "unknown"
            assert await site.plugin.engine.in_flight() == 1
            assert (await owner.report())["status"] == "accepted"

    async def test_a_report_with_its_token_needs_nothing_else(self):
        site = a_site()
        site.queue(click())
        async with in_process(site.app) as client:
            token = (await Agent(client, headers={"x-api-key": "a"}).poll())["delivery"]["token"]
            assert (await Agent(client).report(token=token))["status"] == "accepted"

    async def test_with_a_configured_token_a_resend_needs_it(self):
        site = a_site(settings={"api_token": "t"})
        site.queue(click())
        async with in_process(site.app) as client:
            bearer = Agent(client, headers={"authorization": "Bearer t"})
            await Agent(client).poll()
            site.clock.advance(31)
            assert (await Agent(client).ask()).status_code == 401
            assert (await bearer.poll())["delivery"]["attempt"] == 2
            assert (await Agent(client).report())["status"] == "unknown"
            assert (await bearer.report())["status"] == "accepted"

    async def test_the_hook_is_asked(self):
        async def authorize(scope: dict) -> bool:
            return (b"x-desk", b"1") in scope["headers"]

        site = a_site(authorize=authorize)
        site.queue(click())
        async with in_process(site.app) as client:
            await Agent(client).poll()
            site.clock.advance(31)
            assert (await Agent(client).ask()).status_code == 401
            assert (await Agent(client, headers={"x-desk": "1"}).poll())["delivery"]["attempt"] == 2

    async def test_an_agent_with_a_refreshed_token_that_the_host_takes_is_not_shut_out_for_good(self):
        site = a_site()
        site.queue(click(), click("act_2"))
        async with in_process(site.app) as client:
            old, new = (Agent(client, headers={"authorization": f"Bearer {n}"}) for n in (1, 2))
            await old.poll()
            await old.report()
            await new.poll()
            site.clock.advance(31)
            assert (await new.poll())["delivery"]["attempt"] == 2

    async def test_where_no_credentials_are_known_the_hosts_answer_decides(self):
        """A restart over a store that remembers: neither a stall nor a way around the host."""
        site = a_site()
        site.queue(click())
        async with in_process(site.app) as client:
            await Agent(client).poll()
            site.clock.advance(31)
            site.plugin.guard._accepted.clear()
            assert (await Agent(client).poll())["delivery"]["attempt"] == 2
            site.plugin.guard._accepted.clear()
            assert (await Agent(client).poll())["action"] is None

    @pytest.mark.parametrize("token", [None, "t"])
    async def test_the_counters_are_an_operators(self, token):
        site = a_site(settings={"api_token": token})
        far = await exchange(site.app, "GET", METRICS, "", client=("10.0.0.9", 1))
        assert far[0]["status"] == 401
        headers = {"authorization": "Bearer t"} if token else {}
        near = await exchange(site.app, "GET", METRICS, "", headers)
        assert near[0]["status"] == 200

    async def test_a_heartbeat_needs_its_token_only(self):
        site = a_site(settings={"api_token": "t"})
        site.queue(click())
        async with in_process(site.app) as client:
            token = (await Agent(client).poll())["delivery"]["token"]
            assert (await client.post(PROGRESS, json={"token": token})).status_code == 200
            assert (await client.post(PROGRESS, json={"token": "other"})).status_code == 409

    async def test_a_poll_of_a_session_that_is_paused_says_nothing_of_it_to_others(self):
        site = a_site()
        site.queue(click())
        async with in_process(site.app) as client:
            await Agent(client, headers={"x-api-key": "a"}).poll()
            await site.plugin.engine.pause("s", "secret")
            answer = await client.get(NEXT, params={"session_id": "s"})
        assert answer.status_code == 401
        assert "secret" not in answer.text
