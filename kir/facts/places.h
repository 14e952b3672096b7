/* Places of local memory that work-items share out by their numbers: which of them belong to one
 * work-item, in whatever turn of whatever loop it is. Positions and conditions are expanded: what
 * variables stand for is in their place. Columns and rows believe the kernel's maker that data stay
 * in them (hazard.c says what follows). */
#ifndef KIR_FACTS_PLACES_H
#define KIR_FACTS_PLACES_H

#include "kir/facts/position.h"
#include "kir/facts/uniform.h"
#include "kir/walk.h"

typedef struct {
    const KUniform *uniform;
    KPositions *positions;
    PtrMap *loops;        /* variable -> its FOR, bounds expanded */
    const PtrMap *halves; /* variables that only say which half of a buffer is which */
    unsigned dims;        /* in which the kernel tells work-items apart */
} KPlaces;

/* Does the value of x depend on when it is asked for? On which half is which it may. */
bool kplaces_changes(const KPlaces *p, const KExp *x);
/* Does x hold for one number of work-items in a dimension, which is set? */
bool kplaces_alone(const KPlaces *p, const KExp *x, int *dim);
/* Of a branch's condition `base + local_id < n`, the loop of base from 0 to n by the group's size;
 * else NULL. Where it holds, the loop has dealt the turn base + local_id to the work-item. */
const KStm *kplaces_turn(const KPlaces *p, const KExp *cond);
/* Are both in the column of a matrix that one and the same loop has dealt to the work-item? turn:
 * the loop that kplaces_turn finds in what holds at both, or NULL. */
bool kplaces_same_column(const KPlaces *p, const KExp *x, const KExp *y, const KStm *turn);
/* Are they places of the row that is the work-item's own, as far as can be told? Where work-items
 * have numbers in two dimensions, a row may be of several. */
bool kplaces_maybe_same_row(const KPlaces *p, const KExp *at, const KExp *bt);
/* Are they at a distance that no two turns of a loop have that is dealt to the work-items? */
bool kplaces_turns_apart(const KPlaces *p, const KExp *at, const KExp *bt);

#endif
