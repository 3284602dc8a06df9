% Problem  : syj211_04
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(axiom1,axiom,( (a0 => f) )).
fof(axiom2,axiom,( ((~~b4 => b0) => a4) )).
fof(axiom3,axiom,( ((~~b0 => a1) => a0) )).
fof(axiom4,axiom,( ((~~b1 => a2) => a1) )).
fof(axiom5,axiom,( ((~~b2 => a3) => a2) )).
fof(axiom6,axiom,( ((~~b3 => a4) => a3) )).
fof(con,conjecture,( f )).
