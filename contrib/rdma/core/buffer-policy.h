/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How much of a switch's shared pool one queue may hold: threshold policies by name.
 *
 * A queue here is whatever the pool is shared by: a (port, priority) as ingress for lossless
 * traffic, as egress for lossy traffic. B is the size of the shared pool, Q what is used of it,
 * alpha the share that the queue's priority is given.
 *
 *     dynamic    T = alpha (B - Q)
 *                Choudhury & Hahne, "Dynamic queue length thresholds for shared-memory packet
 *                switches", IEEE/ACM ToN 6(2), 1998.
 *                m queues that want all get alpha B / (1 + m alpha) each, and B / (1 + m alpha)
 *                stays free for newcomers.
 *
 *     static     T = alpha B
 *                "Sharing with maximum queue lengths": Irland, IEEE Trans. Commun. 26(3), 1978;
 *                Kamoun & Kleinrock, IEEE Trans. Commun. 28(7), 1980.
 *                No newcomer can make a queue's threshold fall; with m alpha > 1 the pool may run
 *                out.
 *
 * Others (RdmaBufferPolicy): abm-limit.h, fair-limit.h, headroom-pools.h.
 */
#ifndef RDMA_CORE_BUFFER_POLICY_H
#define RDMA_CORE_BUFFER_POLICY_H

#include "contrib/rdma/core/registered-part.h"

namespace rdma
{

inline const RegisteredBufferPolicy kDynamicPolicy{
    BufferPolicyName{{"dynamic", "a share of what is free in the pool (Choudhury & Hahne 1998)"},
                     true}};

inline const RegisteredBufferPolicy kStaticPolicy{
    BufferPolicyName{{"static", "a share of the pool, whatever is free"}, true}};

} // namespace rdma

#endif // RDMA_CORE_BUFFER_POLICY_H
