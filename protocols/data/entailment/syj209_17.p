% Problem  : syj209_17
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(axiom1,axiom,( (((p1 & (p2 & (p3 & (p4 & (p5 & (p6 & (p7 & (p8 & (p9 & (p10 & (p11 & (p12 & (p13 & (p14 & (p15 & (p16 & p17)))))))))))))))) | ((~~p1 => f) | ((p2 => f) | ((p3 => f) | ((p4 => f) | ((p5 => f) | ((p6 => f) | ((p7 => f) | ((p8 => f) | ((p9 => f) | ((p10 => f) | ((p11 => f) | ((p12 => f) | ((p13 => f) | ((p14 => f) | ((p15 => f) | ((p16 => f) | (p17 => f)))))))))))))))))) => f) )).
fof(con,conjecture,( f )).
