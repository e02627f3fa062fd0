/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * HPCC-PINT's name and presets: HPCC's law (hpcc-window.h) fed by PINT's telemetry (pint.h).
 */
#ifndef RDMA_CORE_HPCC_PINT_H
#define RDMA_CORE_HPCC_PINT_H

#include "added-bytes.h"
#include "answered-packets.h"
#include "congestion-control.h"
#include "ecn-law.h"
#include "pint.h"

namespace rdma
{

enum HpccPintPreset
{
    kHpccPintCode
};

inline const RegisteredCongestionControl kHpccPint{
    "hpcc-pint",
    "HPCC with PINT (Ben Basat et al., SIGCOMM 2020): the same window, by one byte of telemetry in "
    "each packet",
    {{kHpccPintCode,
      "pint20",
      "as HPCC's sigcomm19; 1.05 as the base of a byte's logarithm, every ACK looked at",
      EcnHpcc19(Gbps(100))}}};
inline const AnswersEachPacket kHpccPintAnswers{"hpcc-pint"};
inline const AddsToData kHpccPintAdds{"hpcc-pint", kPintBytes};

} // namespace rdma

#endif // RDMA_CORE_HPCC_PINT_H
