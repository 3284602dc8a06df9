% Problem  : gate_theorem_neither
% Status   : Theorem
% Status (intuit.) : Theorem
fof(con,conjecture,( (p ~| q)<=>(~p&~q) )).
