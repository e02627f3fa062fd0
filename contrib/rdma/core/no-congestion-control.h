/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * No congestion control: a sender at line rate. It has the marking of DCQCN's presets, so that a
 * run without differs from one with DCQCN in nothing else; nobody answers the marks.
 */
#ifndef RDMA_CORE_NO_CONGESTION_CONTROL_H
#define RDMA_CORE_NO_CONGESTION_CONTROL_H

#include "congestion-control.h"
#include "dcqcn-rate.h"

namespace rdma
{

inline const RegisteredCongestionControl kNoCongestionControl{
    "none",
    "no congestion control: line rate, losses and queues left to PFC or to go-back-N",
    DcqcnAdapterPresets()};

} // namespace rdma

#endif // RDMA_CORE_NO_CONGESTION_CONTROL_H
