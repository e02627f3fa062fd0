/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * DCQCN's rate of a NIC on a network that loses packets: a NAK and a time-out cut it, as a CNP does
 * (DcqcnRate::OnCnp). What is known of such NICs: they slow down on losses (NVIDIA's switch for it
 * is called RoCE slow restart); by which law is not published, so DCQCN's own is assumed. Two
 * senders at 100 Gb/s into one port of 100 Gb/s, without PFC and marks, have 72 Gb/s of goodput
 * together and lose 3.1% (preset nvidia-nic, NakInterval 10 us); a measured NIC had 74 Gb/s
 * and 1.7%.
 */
#ifndef RDMA_CORE_LOSS_RATE_H
#define RDMA_CORE_LOSS_RATE_H

#include "congestion-control.h"
#include "dcqcn-rate.h"

#include <algorithm>
#include <vector>

namespace rdma
{

/// DCQCN's presets of adapters; the first one is a NIC's own, which comes nearest to measured NICs.
inline std::vector<CongestionPreset>
LossRatePresets()
{
    std::vector<CongestionPreset> presets = DcqcnAdapterPresets();
    std::rotate(presets.begin(), presets.end() - 1, presets.end());
    return presets;
}

inline const RegisteredCongestionControl kLossRate{
    "loss-rate",
    "DCQCN's rate, cut by NAKs and time-outs as well as by CNPs: networks that lose packets",
    LossRatePresets()};

} // namespace rdma

#endif // RDMA_CORE_LOSS_RATE_H
