/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * DCQCN's rate of a NIC on a network that loses packets: a NAK and a time-out cut it, as a CNP does
 * (DcqcnRate::OnCnp). What is known of such NICs: they slow down on losses (NVIDIA's switch for it
 * is called RoCE slow restart); by which law is not published, so DCQCN's own is assumed. Two
 * senders at 100 Gb/s into one port of 100 Gb/s, without PFC and marks, have 69 Gb/s of goodput
 * together and lose 5.2% (NakInterval 10 us); a measured NIC had 74 Gb/s and 1.7%. The presets are
 * DCQCN's: of nvidia-nic 2 senders at 100 Gb/s come nearer to that NIC (72 Gb/s, 3.1%), and 2 to 5
 * senders at 25 Gb/s collapse to a quarter of the line, so it is not the first one.
 */
#ifndef RDMA_CORE_LOSS_RATE_H
#define RDMA_CORE_LOSS_RATE_H

#include "congestion-control.h"
#include "dcqcn-rate.h"

namespace rdma
{

inline const RegisteredCongestionControl kLossRate{
    "loss-rate",
    "DCQCN's rate, cut by NAKs and time-outs as well as by CNPs: networks that lose packets",
    DcqcnAdapterPresets()};

} // namespace rdma

#endif // RDMA_CORE_LOSS_RATE_H
