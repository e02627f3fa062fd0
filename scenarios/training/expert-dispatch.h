/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How tokens get to their experts, and what an all-to-all carries for that.
 *
 *   alltoall   a token goes to a rank once for each of its experts there: topK copies
 *   deepep     once to each server that has some of them, over the network, to the GPU of the
 *              sender's place there; that GPU forwards it inside the server, once to each GPU that
 *              has some, while others still come in. The way back is the same, with sums made where
 *              ways meet (deepseek-ai/DeepEP README; arXiv 2412.19437, section 3.2.2)
 *
 * Copies. A token chooses topK of E experts at random, each set alike. With --moe-node-limit=M it
 * may choose among those of M of S servers alone, E' = M E / S experts, and each set of servers is
 * alike (DeepSeek-V3 takes the servers of the best scores, which are random to us). A holder with e
 * of the E' experts gets it unless all topK are others:
 *
 *   P(e) = 1 - C(E' - e, topK) / C(E', topK) = 1 - product of (E' - e - i) / (E' - i), i < topK
 *
 *   servers   M P(E / S)            mean servers of a token (3.6 of 4: DeepSeek-V3 on 8 servers)
 *   ranks     M R P(E / (S R))      mean ranks of a token, R ranks of the group in a server
 *
 * All servers and ranks get as many tokens, so a rank's own server has 1 / S of its copies.
 */
#ifndef SCENARIOS_TRAINING_EXPERT_DISPATCH_H
#define SCENARIOS_TRAINING_EXPERT_DISPATCH_H

#include "scenarios/training/spec/plan-options.h"

#include <cstdint>

namespace training
{

/// Mean number of holders that get a token, of `holders` that have equal shares of the experts.
/// \param experts among which a token chooses
double MeanHolders(double holders, uint32_t experts, uint32_t topK);

/// Copies of a token.
struct TokenCopies
{
    double servers = 0; ///< servers that get it
    double ranks = 0;   ///< ranks that get it
};

/// \param span of the expert group \param limit most servers of a token; 0: all
TokenCopies CopiesOf(const Routing& routing, const ExpertSpan& span, uint32_t limit);

/// Bytes of so many elements on the way to or from experts. fp8 has a scale of 32 bits for 128
/// elements (arXiv 2412.19437, section 3.3.2: tiles of 1 x 128).
double TokenBytes(TokenType type, double elements, Dtype dtype);

} // namespace training

#endif // SCENARIOS_TRAINING_EXPERT_DISPATCH_H
