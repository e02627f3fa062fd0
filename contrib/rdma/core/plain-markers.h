/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Markers that keep no state, by one comparison:
 *
 *     step    a frame is marked if its queue is K bytes or longer: Alizadeh et al., "Data center
 * TCP (DCTCP)", SIGCOMM 2010, section 3.1 (there when the frame joins) tcn     ... if the frame was
 * queued for T or longer: Bai, Chen, Chen, Kim & Wu, "Enabling ECN over generic packet scheduling",
 * CoNEXT 2016; T = K / C, as long as K bytes take alone, holds for any scheduler
 */
#ifndef RDMA_CORE_PLAIN_MARKERS_H
#define RDMA_CORE_PLAIN_MARKERS_H

#include "contrib/rdma/core/registered-part.h"

namespace rdma
{

inline const RegisteredMarker kStepMarker{
    MarkerName{{"step", "from EcnKmin on, all (DCTCP's step)"}, true}};

inline const RegisteredMarker kTcnMarker{
    MarkerName{{"tcn", "by time in the queue, all from a threshold on (CoNEXT 2016)"}, true}};

} // namespace rdma

#endif // RDMA_CORE_PLAIN_MARKERS_H
