// Leave the bedroom: a learned skill walks, these plans watch over it.
//
// The lab believes for the agent, from pictures alone: step(N), still(N) steps in a row in which
// nothing moved, seen(N) times that this picture came in this episode, coach("JID"), and at the
// end ended(success | timeout, Steps). What is wanted stands first, and anew in each episode.

!leave.

// Nothing moved, so the skill leans against something: try one button, and remember whether it
// set the game in motion. A step that only turns the hero moves the picture as well.
+!leave : still(N) & N >= 1 <-
    .choose(stuck, [up, down, left, right, a, b], Button);
    .press(Button);
    !judge(Button);
    !leave.

// The same picture again and again: the skill goes in circles. Draw a button instead of the best.
+!leave : seen(N) & N >= 2 <-
    .sample(Button);
    .press(Button);
    !leave.

// The coach has advised to draw, and the skill is not sure.
+!leave : advice(draw) & .confidence(C) & C < 0.5 <-
    .sample(Button);
    .press(Button);
    !leave.

+!leave <-
    .skill(Button);
    .press(Button);
    !leave.

+!judge(Button) : still(0) <- .credit(stuck, Button, 1).
+!judge(Button) <- .credit(stuck, Button, 0).

// The coach hears how it went, and answers with advice.
+ended(Outcome, Steps) : coach(Coach) <- .send(Coach, tell, result(Outcome, Steps)).
