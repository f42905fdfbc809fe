"""Names of runs, such as quiet-moth-12: an adjective, a noun and a number made of the run id.

A name is a function of the id, so that runs of old homes, of archives and of other computers have one without being
written again. An id whose name another run of the home has is not given out (`runs.life.new_run_id`).
"""

from __future__ import annotations

import zlib

_ADJECTIVES = """
able airy amber ample apt avid azure balmy blithe blue bold brave breezy bright brisk busy calm candid cheery civil
clear clever cosy crisp curly dapper deep deft early eager equal exact fair fancy fast fine firm fleet fluffy fond
frank free fresh gentle glad golden grand green happy hardy honest humble jolly keen level light lively loyal lucid
lucky lunar mellow merry mild modest neat nimble noble pale patient plain polite prime proud quick quiet rapid ready
regal round royal rustic serene silver sleek slow smooth snug solar solid steady sturdy sunny sure swift tidy vivid
warm wise witty
"""
_NOUNS = """
acorn anchor apple aspen badger beacon bear beech birch breeze bridge brook canyon canoe cedar cloud clover comet
coral cove crane creek daisy dawn deer delta dove dune eagle ember falcon fern field finch fjord flute forest
fox garden gecko glade grove hare hawk hazel hedge heron hill iris island ivy jay kite koala lagoon lake lantern
lark leaf lemon lily linden lynx maple marble meadow mill moon moss moth oak ocean olive orchid otter owl panda
pebble pine planet plum pond poppy quail quartz rain raven reef ridge river robin rose sail shell shore spruce stone
swan tulip wren
"""
ADJECTIVES, NOUNS = _ADJECTIVES.split(), _NOUNS.split()
MOST_NUMBER = 99


def run_name(run_id: str) -> str:
    """Return the name of a run without a name of its own, such as quiet-moth-12; the words' order above counts."""
    rest, number = divmod(zlib.crc32(run_id.encode(errors="replace")), MOST_NUMBER)
    rest, noun = divmod(rest, len(NOUNS))
    return f"{ADJECTIVES[rest % len(ADJECTIVES)]}-{NOUNS[noun]}-{number + 1}"
