"""A random agent in a Gymnasium environment: `python 03_random_agent.py [STEPS]`."""

import sys

import gymnasium

env = gymnasium.make("dmglab:dmglab/pocket_quest.leave_bedroom-v0", render_mode="rgb_array")
obs, info = env.reset(seed=1)
print(env.observation_space, env.action_space, env.unwrapped.get_action_meanings())
total = 0.0
for _ in range(int(sys.argv[1]) if sys.argv[1:] else 500):
    obs, reward, terminated, truncated, info = env.step(env.action_space.sample())
    total += reward
    if terminated or truncated:
        print("goal" if terminated else "out of time", f"return {total:.2f}, distance {info['dist']:.3f}")
        obs, info = env.reset()
        total = 0.0
env.close()
