/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * InfiniBand's congestion control as pure laws: InfiniBand Architecture Specification vol. 1, annex
 * A10.
 *
 * Switch, for each output port and VL (IbMarker). More bytes waiting than the threshold make the
 * port VL congested if it is the root of the congestion (it has credits to send) or if it is a
 * victim (it waits for credits) and its bit in the victim mask is set. Of the packets that a
 * congested port VL forwards, those not smaller than the packet size are eligible, and of these it
 * sets FECN in one, leaves out `markingRate`, sets it in one ... (The specification has that number
 * as a mean; a count keeps runs alike.) The threshold is 0 (no marking) to 15 (the least queue);
 * what it means in bytes is left to the maker. Here it is (16 - threshold) / 16 of the buffer,
 * assumed.
 *
 * Destination: a packet with FECN is answered with BECN in the ACK, or in a CN packet of its own.
 *
 * Source, for each queue pair or each service level (IbCcRate). An index into the congestion
 * control table (CCT) says how long to wait between packets:
 *
 *   BECN              CCTI = min(CCTI + CCTI_Increase, CCTI_Limit)
 *   every CCTI_Timer  CCTI = max(CCTI - 1, CCTI_Min)                CCTI_Timer in units of 1.024 us
 *   delay             packet's time on the link x multiplier / 2^shift         entry = shift (2
 *                                                                              bits), multiplier
 *                                                                              (14)
 *   so the rate is    line / (1 + multiplier / 2^shift)                        for packets all
 *                                                                              alike
 *
 * The timer runs while the index is above the minimum, its periods counted from the BECN that
 * raised it above (as in Linux's driver of Omni-Path adapters, hfi1: process_becn, cca_timer_fn,
 * set_link_ipg, from which the fields of an entry are taken as well). It has no event here: what
 * fell due is applied when somebody asks. An index that reaches the trigger threshold by a BECN is
 * an event of the congestion log.
 *
 * Sources of presets: "Mellanox OFED for Linux User Manual", rev. 2.2-1.0.1, 8.9.4, tables 25 to 28
 * (congestion control manager: values and defaults); E. G. Gran et al., "First Experiences with
 * Congestion Control in InfiniBand Hardware", IPDPS 2010.
 *
 * Units: picoseconds, bytes, bits per second. Time must not run backwards over the calls.
 */
#ifndef CONTRIB_RDMA_CORE_IB_IB_CONGESTION_H
#define CONTRIB_RDMA_CORE_IB_IB_CONGESTION_H

#include "contrib/rdma/core/congestion-control.h"
#include "contrib/rdma/core/units.h"
#include "ib-sizes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

namespace rdma
{

// ---------------------------------------------------------------------------------------------
// Switch.

/// Constants of a switch port.
struct IbMarkingParameters
{
    uint8_t threshold = 15;    ///< 0: no marking; 1 (long queue) to 15 (short)
    uint16_t markingRate = 10; ///< eligible packets between two that are marked
    uint8_t packetSize = 8;    ///< in 64 bytes: smaller packets are not marked; 0: all are
    bool victimMask = false;   ///< mark also when waiting for credits
};

/// Defaults of Mellanox's congestion control manager: threshold 0xf, marking_rate 0xa, packet_size
/// 0x200 (bytes). The victim mask is assumed: set for ports to adapters (where an adapter drains
/// too slowly the port has no credits and is the root all the same), clear between switches.
constexpr IbMarkingParameters
IbMarkingManagerDefaults(bool towardsAdapter)
{
    return {15, 10, 8, towardsAdapter};
}

/// After Gran et al.: threshold 15, every packet of any size. Assumed, their table could not be
/// checked.
constexpr IbMarkingParameters
IbMarkingGran10(bool towardsAdapter)
{
    return {15, 0, 0, towardsAdapter};
}

/// Bytes that may wait before the port VL is congested, of a buffer of `capacity`; the greatest
/// number for threshold 0. Throws std::invalid_argument if the threshold is above 15.
inline Bytes
IbThresholdBytes(uint8_t threshold, Bytes capacity)
{
    if (threshold > 15)
    {
        throw std::invalid_argument("InfiniBand congestion control: the threshold is not 0 to 15");
    }
    return threshold == 0 ? Bytes(std::numeric_limits<uint64_t>::max())
                          : Bytes(capacity.value * (16 - threshold) / 16);
}

/// FECN of one output port and VL.
class IbMarker
{
  public:
    IbMarker() = default;

    /// \param capacity bytes that the threshold is a part of
    IbMarker(const IbMarkingParameters& parameters, Bytes capacity)
        : m_threshold(IbThresholdBytes(parameters.threshold, capacity)),
          m_leastBytes(parameters.packetSize * kIbBlockBytes),
          m_between(parameters.markingRate),
          m_victims(parameters.victimMask)
    {
    }

    /// Whether the port VL is congested: `waiting` bytes for it in the switch, and whether it waits
    /// for credits.
    bool IsCongested(Bytes waiting, bool waitsForCredits) const
    {
        return waiting > m_threshold && (!waitsForCredits || m_victims);
    }

    /// Whether to set FECN in this packet (LRH to VCRC) that is forwarded now.
    bool Mark(uint32_t packetBytes, Bytes waiting, bool waitsForCredits)
    {
        if (!IsCongested(waiting, waitsForCredits) || packetBytes < m_leastBytes)
        {
            return false;
        }
        if (m_left > 0)
        {
            --m_left;
            return false;
        }
        m_left = m_between;
        return true;
    }

    /// Bytes above which it marks.
    Bytes Threshold() const
    {
        return m_threshold;
    }

  private:
    Bytes m_threshold{std::numeric_limits<uint64_t>::max()};
    uint32_t m_leastBytes = 0;
    uint16_t m_between = 0;
    uint16_t m_left = 0; ///< eligible packets to leave out before the next mark
    bool m_victims = false;
};

// ---------------------------------------------------------------------------------------------
// Source.

constexpr uint32_t kIbCctEntries = 128;     ///< of the table at most, here
constexpr int64_t kIbCctiTimerPs = 1024000; ///< unit of CCTI_Timer: 1.024 us

/// An entry of the table: delay in packet times = multiplier / 2^shift.
struct IbCctEntry
{
    uint16_t value = 0;

    constexpr IbCctEntry() = default;

    /// \param shift 0 to 3
    /// \param multiplier 0 to 16383
    constexpr IbCctEntry(uint32_t shift, uint32_t multiplier)
        : value(static_cast<uint16_t>((shift & 3) << 14 | (multiplier & 0x3fff)))
    {
    }

    constexpr uint32_t Shift() const
    {
        return value >> 14;
    }

    constexpr uint32_t Multiplier() const
    {
        return value & 0x3fffU;
    }

    /// The wait behind a packet that takes `packetTime` on the link, cut to a picosecond.
    constexpr Duration Delay(Duration packetTime) const
    {
        return Duration(packetTime.ps * Multiplier() >> Shift());
    }

    /// The rate of packets all alike on a link of this rate, to the nearest bit a second.
    constexpr BitRate Rate(BitRate line) const
    {
        const uint64_t unit = 1ULL << Shift();
        const unsigned __int128 bits = static_cast<unsigned __int128>(line.bps) * unit;
        const uint64_t share = unit + Multiplier();
        return BitRate(static_cast<uint64_t>((bits + share / 2) / share));
    }

    /// The nearest entry to a delay in packet times, with the finest shift it fits; the greatest
    /// one if it is too large.
    static IbCctEntry Of(double packetTimes)
    {
        for (uint32_t shift = 3;; --shift)
        {
            const double multiplier = std::nearbyint(packetTimes * (1U << shift));
            if (multiplier <= 0x3fff || shift == 0)
            {
                return {shift, static_cast<uint32_t>(std::min(multiplier, 16383.))};
            }
        }
    }
};

/// Constants of a channel adapter.
struct IbCcParameters
{
    std::array<IbCctEntry, kIbCctEntries> table{};
    uint16_t limit = kIbCctEntries - 1; ///< CCTI_Limit: greatest index
    uint8_t minimum = 0;                ///< CCTI_Min
    uint8_t increase = 1;               ///< CCTI_Increase; 0: BECNs do nothing
    uint16_t timer = 150;               ///< CCTI_Timer, in 1.024 us; 0: BECNs do nothing
    uint8_t triggerThreshold = 2;       ///< index from which a BECN is logged

    /// Null, or what is wrong.
    const char* Error() const
    {
        if (limit >= kIbCctEntries)
        {
            return "InfiniBand congestion control: CCTI_Limit is beyond the table (127)";
        }
        if (minimum > limit)
        {
            return "InfiniBand congestion control: CCTI_Min is above CCTI_Limit";
        }
        return nullptr;
    }
};

/// Delays 0, 1, 2 ... in units of 1 / 2^shift packet times. Throws std::invalid_argument if the
/// shift is above 3.
inline std::array<IbCctEntry, kIbCctEntries>
IbCctLinear(uint32_t shift)
{
    if (shift > 3)
    {
        throw std::invalid_argument("InfiniBand congestion control: the shift is not 0 to 3");
    }
    std::array<IbCctEntry, kIbCctEntries> table;
    for (uint32_t i = 0; i < kIbCctEntries; ++i)
    {
        table[i] = IbCctEntry(shift, i);
    }
    return table;
}

/// Rates that fall by the same factor from entry to entry, to 1 / flows of the line at `limit`: so
/// that this many sources of one sink can be slowed to its rate. Throws std::invalid_argument if
/// limit is 0 or beyond the table, or there are no flows.
inline std::array<IbCctEntry, kIbCctEntries>
IbCctGeometric(uint32_t flows, uint32_t limit)
{
    if (flows == 0 || limit == 0 || limit >= kIbCctEntries)
    {
        throw std::invalid_argument(
            "InfiniBand congestion control: no table for this limit and number of flows");
    }
    std::array<IbCctEntry, kIbCctEntries> table;
    for (uint32_t i = 0; i < kIbCctEntries; ++i)
    {
        table[i] =
            IbCctEntry::Of(std::pow(flows, std::min(1., static_cast<double>(i) / limit)) - 1);
    }
    return table;
}

/// Defaults of Mellanox's congestion control manager: ccti_increase 1, trigger_threshold 2,
/// ccti_min 0. It derives table and timer from the number of hosts in a way that is not published;
/// the geometric table, CCTI_Limit 127 and CCTI_Timer 150 are assumed.
inline IbCcParameters
IbCcManagerDefaults(uint32_t hosts)
{
    IbCcParameters p;
    p.table = IbCctGeometric(std::max<uint32_t>(hosts, 2), p.limit);
    return p;
}

/// After Gran et al.: CCTI_Increase 1, CCTI_Limit 127, CCTI_Timer 150, CCTI_Min 0, a linear table
/// (of one packet time a step). Assumed, their table could not be checked.
inline IbCcParameters
IbCcGran10()
{
    IbCcParameters p;
    p.table = IbCctLinear(0);
    return p;
}

/// The index, delay and rate of one queue pair or service level.
class IbCcRate
{
  public:
    /// Later than any event: the index does not change by time alone.
    static constexpr TimePoint kNever{std::numeric_limits<int64_t>::max()};

    /// \param parameters not copied: many queue pairs share them, and they must outlive this
    /// Throws std::invalid_argument on constants the law has no meaning for.
    IbCcRate(const IbCcParameters* parameters, BitRate line)
        : m_p(parameters),
          m_line(line),
          m_index(parameters->minimum)
    {
        if (const char* error = parameters->Error())
        {
            throw std::invalid_argument(error);
        }
        if (line.bps == 0)
        {
            throw std::invalid_argument("InfiniBand congestion control: the line rate is zero");
        }
        m_rate = Entry().Rate(line);
    }

    /// A BECN came, in an ACK or a CN packet. Returns whether it is an event of the congestion log.
    bool OnBecn(TimePoint now)
    {
        if (m_p->increase == 0 || m_p->timer == 0)
        {
            return false;
        }
        Advance(now);
        if (m_index < m_p->limit)
        {
            if (m_nextTick == kNever)
            {
                m_nextTick = now + Period();
            }
            m_index =
                static_cast<uint16_t>(std::min<uint32_t>(m_index + m_p->increase, m_p->limit));
            m_rate = Entry().Rate(m_line);
        }
        return m_index >= m_p->triggerThreshold;
    }

    /// The rate of packets all alike. Costs one comparison while nothing is due.
    BitRate At(TimePoint now)
    {
        Advance(now);
        return m_rate;
    }

    /// The time to wait behind a packet of `packetTime` on the link, sent now.
    Duration DelayAfter(Duration packetTime, TimePoint now)
    {
        Advance(now);
        return Entry().Delay(packetTime);
    }

    /// CCTI.
    uint32_t Index(TimePoint now)
    {
        Advance(now);
        return m_index;
    }

    /// The rate of the last call.
    BitRate Current() const
    {
        return m_rate;
    }

    /// The earliest time at which At could answer differently by time alone; kNever if it could
    /// not.
    TimePoint NextChange() const
    {
        return m_nextTick;
    }

    /// Whether it waits between packets, as of the last call.
    bool Limited() const
    {
        return Entry().Multiplier() > 0;
    }

  private:
    IbCctEntry Entry() const
    {
        return m_p->table[m_index];
    }

    Duration Period() const
    {
        return Duration(kIbCctiTimerPs * m_p->timer);
    }

    /// The ticks due up to and including `now`.
    void Advance(TimePoint now)
    {
        if (now < m_nextTick)
        {
            return;
        }
        const int64_t ticks = (now - m_nextTick).ps / Period().ps + 1;
        const int64_t above = m_index - m_p->minimum;
        if (ticks >= above)
        {
            m_index = m_p->minimum;
            m_nextTick = kNever;
        }
        else
        {
            m_index = static_cast<uint16_t>(m_index - ticks);
            m_nextTick = m_nextTick + Period() * ticks;
        }
        m_rate = Entry().Rate(m_line);
    }

    TimePoint m_nextTick = kNever; ///< what Advance reads first
    const IbCcParameters* m_p;
    BitRate m_line;
    BitRate m_rate;
    uint16_t m_index;
};

// ---------------------------------------------------------------------------------------------
// Static rate control (vol. 1, 9.11): a source waits `ipd` packet times behind each packet, so that
// a slower destination port is not overrun.

/// The inter-packet delay for a destination (or path) of rate `slow` behind a port of rate `fast`:
/// the least whole number with which the rate is not exceeded; 0 if it is not slower. Throws
/// std::invalid_argument if `slow` is zero.
inline uint32_t
IbInterPacketDelay(BitRate fast, BitRate slow)
{
    if (slow.bps == 0)
    {
        throw std::invalid_argument("InfiniBand static rate control: the rate is zero");
    }
    // A rate that was rounded to a whole bit (FDR) must not add a packet time: one part in 10^9 is
    // let pass.
    const double ratio = static_cast<double>(fast.bps) / static_cast<double>(slow.bps);
    const double whole = std::ceil(ratio * (1 - 1e-9));
    return whole <= 1 ? 0 : static_cast<uint32_t>(std::min(whole - 1, 4294967295.));
}

enum IbCcPreset
{
    kIbCcMellanox,
    kIbCcGran10
};

inline const RegisteredCongestionControl kIbCc{
    "ib-cc",
    "InfiniBand's (annex A10): packets marked with FECN raise the sender's index into a table of "
    "delays",
    {{kIbCcMellanox,
      "mellanox",
      "manual of Mellanox OFED 2.2, a geometric table for 128 sources of one sink; on Ethernet K "
      "400/1600 kB, Pmax 0.2",
      EcnHpcc19(Gbps(100))},
     {kIbCcGran10,
      "gran10",
      "Gran et al., IPDPS 2010, a linear table; on Ethernet K 400/1600 kB, Pmax 0.2",
      EcnHpcc19(Gbps(100))}}};

} // namespace rdma

#endif // CONTRIB_RDMA_CORE_IB_IB_CONGESTION_H
