"""A random agent in a Gymnasium environment: `python 03_random_agent.py [STEPS]`."""

import sys

import gymnasium

env = gymnasium.make("dmglab:dmglab/pocket_quest.leave_bedroom-v0", render_mode="rgb_array")
obs, info = env.reset(seed=1)
print(env.observation_space, env.action_space, env.unwrapped.get_action_meanings())
total, episodes = 0.0, 0
for _ in range(int(sys.argv[1]) if sys.argv[1:] else 1000):
    obs, reward, terminated, truncated, info = env.step(env.action_space.sample())
    total += reward
    if terminated or truncated:
        print("at the goal" if terminated else "out of time", f"after {info['episode_steps']} steps")
        obs, info = env.reset()
        episodes += 1
print(
    f"{episodes} episodes, reward {total:.2f}, distance to the goal now {info['dist']:.3f}, screen {env.render().shape}"
)
env.close()
