% Problem  : syj211_01
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(axiom1,axiom,( (a0 => f) )).
fof(axiom2,axiom,( ((~~b1 => b0) => a1) )).
fof(axiom3,axiom,( ((~~b0 => a1) => a0) )).
fof(con,conjecture,( f )).
