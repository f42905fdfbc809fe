// The coach: after two failures in a row it advises to draw where the skill is not sure; after a
// success it takes that back. (-+failures(0) would only take the place of failures(0) itself.)

failures(0).

+result(success, Steps)[source(Player)] <-
    -failures(_); +failures(0);
    -result(success, Steps)[source(Player)];
    .send(Player, untell, advice(draw)).

+result(timeout, Steps)[source(Player)] : failures(N) & N >= 1 <-
    -failures(_); +failures(N + 1);
    -result(timeout, Steps)[source(Player)];
    .send(Player, tell, advice(draw)).

+result(timeout, Steps)[source(Player)] : failures(N) <-
    -failures(_); +failures(N + 1);
    -result(timeout, Steps)[source(Player)].
