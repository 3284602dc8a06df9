% Problem  : syj211_02
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(axiom1,axiom,( (a0 => f) )).
fof(axiom2,axiom,( ((~~b2 => b0) => a2) )).
fof(axiom3,axiom,( ((~~b0 => a1) => a0) )).
fof(axiom4,axiom,( ((~~b1 => a2) => a1) )).
fof(con,conjecture,( f )).
