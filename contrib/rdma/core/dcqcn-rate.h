/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * DCQCN, the sender's side (reaction point), as a pure rate law: told what happened and when, it
 * answers with a rate. It owns no timer: what fell due since the last call is applied when the rate
 * is asked for.
 *
 * Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, section 3.1:
 *
 *   cut                R_T = R_C,  R_C = R_C (1 - alpha / 2),  alpha = (1 - g) alpha + g   eq. (1)
 *   no feedback for K  alpha = (1 - g) alpha                                               eq. (2)
 *   fast recovery      R_C = (R_T + R_C) / 2                        while max(T, BC) < F   eq. (3)
 *   additive increase  R_T = R_T + R_AI,   R_C = (R_T + R_C) / 2    otherwise              eq. (4)
 *   hyper increase     R_T = R_T + R_HAI,  R_C = (R_T + R_C) / 2    while min(T, BC) > F   figure 7
 *
 * R_C is the current rate, R_T the target, T and BC count the increases already made since the last
 * cut by the timer and by the byte counter (so F successive increases are fast recovery). A counter
 * that is switched off takes no part in min and max, which is how the HPCC artifact reaches hyper
 * increase on its timer alone.
 *
 * Two ways of reacting to a CNP are in use, and both are here:
 *
 *   kOnCnp     the paper: a CNP cuts at once (eq. 1); the alpha timer K restarts at every cut. The
 *              receiver spaces the CNPs. A CNP sooner than rateDecreaseInterval after the last cut
 *              is ignored (the interval is 0 in the preset: the paper obeys every CNP).
 *   kPeriodic  the adapters, after the Mellanox variant of the HPCC artifact (rdma-hw.cc,
 *              cnp_received_mlx and below) and NVIDIA's description of dce_tcp_rtt and
 *              rate_reduce_monitor_period: a CNP sets two flags. Every alphaPeriod alpha = (1 - g)
 *              alpha + (g if a CNP came in that period, else 0). Every rateDecreaseInterval R_C is
 *              cut if a CNP came in that interval. Both periods are counted from the first CNP,
 *              which sets alpha to its initial value and is not itself counted for alpha. So the
 *              first cut comes one interval after the first CNP. The target follows the rate at a
 *              cut only if the rate was increased since the last one (clamp_tgt_rate = 0,
 *              clamp_tgt_rate_after_time_inc = 1).
 *
 * Events due at one instant: timer increase, alpha, cut (the order the artifact's event queue
 * gives). The artifact's first check is 1 ns later than ours, only to have that order. A CNP at the
 * very instant of a check counts for the next one.
 *
 * Units: picoseconds, bytes, bits per second. Time and bytes must not run backwards over the
 * calls. Rates are kept as doubles and reported rounded to the nearest bit per second.
 */
#ifndef RDMA_CORE_DCQCN_RATE_H
#define RDMA_CORE_DCQCN_RATE_H

#include "answered-packets.h"
#include "congestion-control.h"
#include "hpcc-code-rates.h"
#include "input-error.h"
#include "unit-strings.h"
#include "units.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

namespace rdma
{

/// How a sender reacts to a congestion notification packet; see the head of this file.
enum class DcqcnReaction
{
    kOnCnp,    ///< cut when the CNP comes (the paper)
    kPeriodic, ///< look once an interval whether a CNP came (the adapters)
};

/// The constants of DCQCN. The presets below fill them for a port rate; their sources are there.
struct DcqcnParameters
{
    DcqcnReaction reaction = DcqcnReaction::kPeriodic;
    double g = 1 / 256.;                             ///< gain of alpha, in (0, 1]
    double initialAlpha = 1;                         ///< alpha at the first CNP, in [0, 1]
    Duration alphaPeriod = Microseconds(1);          ///< time between alpha updates (the paper's K)
    Duration rateDecreaseInterval = Microseconds(4); ///< at most one cut in this time
    Duration increaseTimer = Microseconds(300);      ///< time between increases; 0: off
    Bytes byteCounter{0};                            ///< bytes sent between increases; 0: off
    uint32_t fastRecoveryThreshold = 1;              ///< F
    BitRate additiveIncrease = Mbps(20);             ///< R_AI
    BitRate hyperIncrease = Mbps(200);               ///< R_HAI
    BitRate minimumRate = Mbps(100); ///< the rate is not cut below (at most the line rate)
    bool clampTargetRate = false;    ///< R_T = R_C at every cut, as eq. (1) has it
    bool releaseAtLineRate = false;  ///< forget everything once back at line rate (rpg_max_rate)
    Duration cnpInterval = Microseconds(4); ///< least time between a flow's CNPs (the receiver's)
};

/// The set the HPCC paper's artifact runs as "DCQCN, Mellanox version" (simulation/run.py and
/// rdma-hw.cc of alibaba-edu/High-Precision-Congestion-Control): 1 us, 4 us, 300 us, F = 1, R_AI 5
/// and R_HAI 50 Mb/s per 25 Gb/s. The minimum rate is the code's default, 100 Mb/s, not run.py's 1
/// Gb/s, which cannot drain an incast of 128 to 1.
inline DcqcnParameters
DcqcnHpcc19Vendor(BitRate line)
{
    DcqcnParameters p;
    p.additiveIncrease = BitRate(line.bps / 5000);
    p.hyperIncrease = BitRate(line.bps / 500);
    return p;
}

/// The SIGCOMM 2015 paper, section 5.3 and table 14, given for 40 Gb/s: g = 1/256, timer 55 us,
/// byte counter 10 MB, F = 5, R_AI 40 Mb/s, CNPs at least 50 us apart, K = 55 us. R_HAI 200 Mb/s is
/// from the authors' simulator (bobzhuyb/ns3-rdma, mix/config.txt), the paper gives none; the
/// minimum rate, 100 Mb/s, is assumed. R_AI and R_HAI scale with the port rate.
inline DcqcnParameters
DcqcnSigcomm15(BitRate line)
{
    DcqcnParameters p;
    p.reaction = DcqcnReaction::kOnCnp;
    p.alphaPeriod = Microseconds(55);
    p.rateDecreaseInterval = Duration(0);
    p.increaseTimer = Microseconds(55);
    p.byteCounter = Bytes(10000000);
    p.fastRecoveryThreshold = 5;
    p.additiveIncrease = BitRate(line.bps / 1000);
    p.hyperIncrease = BitRate(line.bps / 200);
    p.clampTargetRate = true;
    p.cnpInterval = Microseconds(50);
    return p;
}

/// Defaults of NVIDIA's adapters at any port rate (mlxconfig dumps; "DCQCN CC Parameters" of the
/// DOCA manual): rpg_time_reset 300 us, rpg_byte_reset 32767, rpg_threshold 1, rpg_ai_rate 5 Mb/s,
/// rpg_hai_rate 50 Mb/s, rpg_min_rate 1 Mb/s, dce_tcp_rtt 1 us, rate_reduce_monitor_period 4 us,
/// initial_alpha_value 1023 / 1024, rpg_gd 11 (alpha is in 1/1024, so the cut is alpha / 2, which
/// rpg_min_dec_fac 50% does not limit further), rate_to_set_on_first_cnp 0 (no change),
/// clamp_tgt_rate 0, rpg_max_rate 0 (released at line rate). Two are read in one of two possible
/// ways: dce_tcp_g 1019 is the weight of the old alpha, g = 5 / 1024 (read as the weight of the new
/// sample it would leave alpha no memory), and rpg_byte_reset is in bytes, as the manual has it
/// (Google's Isekai simulator takes units of 64 B). The CNP spacing of 4 us is assumed.
inline DcqcnParameters
DcqcnNvidiaNic(BitRate)
{
    DcqcnParameters p;
    p.g = 5 / 1024.;
    p.initialAlpha = 1023 / 1024.;
    p.byteCounter = Bytes(32767);
    p.additiveIncrease = Mbps(5);
    p.hyperIncrease = Mbps(50);
    p.minimumRate = Mbps(1);
    p.releaseAtLineRate = true;
    return p;
}

/// The sending rate of one queue pair.
class DcqcnRate
{
  public:
    /// Later than any event: "never by time alone".
    static constexpr TimePoint kNever{std::numeric_limits<int64_t>::max()};
    /// More than any flow sends: "never by bytes alone".
    static constexpr Bytes kNoBytes{std::numeric_limits<uint64_t>::max()};

    /// What is wrong with these constants. A timer or counter so short that increases are due by
    /// the thousand at once is refused too: no adapter has one, and each costs a step.
    static InputError Error(const DcqcnParameters& p)
    {
        if (p.minimumRate.bps == 0)
        {
            return ErrorAt("MinimumRate", "is zero");
        }
        if (!(p.g > 0 && p.g <= 1))
        {
            return ErrorAt("G", std::to_string(p.g) + " is not in (0, 1]");
        }
        if (!(p.initialAlpha >= 0 && p.initialAlpha <= 1))
        {
            return ErrorAt("InitialAlpha", std::to_string(p.initialAlpha) + " is not in [0, 1]");
        }
        if (p.alphaPeriod.ps <= 0)
        {
            return ErrorAt("AlphaPeriod", ToString(p.alphaPeriod) + " is not above 0");
        }
        if (p.rateDecreaseInterval.ps < 0 ||
            (p.reaction == DcqcnReaction::kPeriodic && p.rateDecreaseInterval.ps == 0))
        {
            return ErrorAt("RateDecreaseInterval",
                           ToString(p.rateDecreaseInterval) + " is not above 0");
        }
        if (p.increaseTimer.ps < 0 || (p.increaseTimer.ps > 0 && p.increaseTimer < kLeastTimer))
        {
            return ErrorAt("IncreaseTimer",
                           ToString(p.increaseTimer) + "; allowed: at least " +
                               ToString(kLeastTimer));
        }
        if (p.byteCounter.value > 0 && p.byteCounter < kLeastCounter)
        {
            return ErrorAt("ByteCounter",
                           ToString(p.byteCounter) + "; allowed: at least " +
                               ToString(kLeastCounter));
        }
        if (p.increaseTimer.ps == 0 && p.byteCounter.value == 0)
        {
            return ErrorAt("IncreaseTimer",
                           "it and ByteCounter are both off, so a rate would never recover");
        }
        return {};
    }

    static constexpr Duration kLeastTimer{10000}; ///< 10 ns
    static constexpr Bytes kLeastCounter{64};

    /// At line rate, without state until the first CNP.
    /// Throws std::invalid_argument on constants the law has no meaning for.
    DcqcnRate(const DcqcnParameters& parameters, BitRate line)
        : DcqcnRate(parameters, line, line)
    {
    }

    /// The same at another rate than the line's.
    DcqcnRate(const DcqcnParameters& parameters, BitRate line, BitRate start)
        : m_p(parameters),
          m_line(static_cast<double>(line.bps)),
          m_minimum(std::min(static_cast<double>(parameters.minimumRate.bps), m_line)),
          m_current(static_cast<double>(start.bps)),
          m_target(m_current),
          m_alpha(parameters.initialAlpha),
          m_rate(start)
    {
        ThrowIf(Error(parameters), "DCQCN");
        if (line.bps == 0)
        {
            throw std::invalid_argument("DCQCN: the line rate is zero");
        }
    }

    /// A CNP came; `sentSoFar` are the bytes this queue pair has sent.
    void OnCnp(TimePoint now, Bytes sentSoFar)
    {
        Advance(now, sentSoFar);
        if (m_p.reaction == DcqcnReaction::kOnCnp)
        {
            if (m_active && now - m_lastCut < m_p.rateDecreaseInterval)
            {
                return;
            }
            if (!m_active)
            {
                Begin(now);
            }
            Cut(now, sentSoFar);
            m_alpha = (1 - m_p.g) * m_alpha + m_p.g;
            m_alphaUpdated = now;
        }
        else if (!m_active)
        {
            Begin(now);
            m_cutDue = now + m_p.rateDecreaseInterval;
        }
        else
        {
            AdvanceAlpha(now);
            m_cnpInAlphaPeriod = true;
            if (m_cutDue == kNever)
            {
                const int64_t interval = m_p.rateDecreaseInterval.ps;
                m_cutDue = m_firstCnp + Duration(((now - m_firstCnp).ps / interval + 1) * interval);
            }
        }
        Refresh();
    }

    /// The rate to send at. Costs two comparisons while nothing is due; otherwise one step for each
    /// increase that fell due, until the rate is back at the line rate.
    BitRate At(TimePoint now, Bytes sentSoFar)
    {
        if (now >= m_nextChange || sentSoFar >= m_nextChangeBytes)
        {
            Advance(now, sentSoFar);
            Refresh();
        }
        return m_rate;
    }

    /// The rate of the last At or OnCnp.
    BitRate Current() const
    {
        return m_rate;
    }

    /// The target rate R_T of the last At or OnCnp, in bits per second.
    double Target() const
    {
        return m_target;
    }

    /// The earliest time at which At could answer differently by time alone; kNever if it could
    /// not.
    TimePoint NextChange() const
    {
        return m_nextChange;
    }

    /// The least count of bytes sent at which At could answer differently by bytes alone; kNoBytes
    /// if none.
    Bytes NextChangeBytes() const
    {
        return m_nextChangeBytes;
    }

    /// The congestion estimate at a time not before the last call, if no CNP comes until then.
    double Alpha(TimePoint now) const
    {
        if (!m_active)
        {
            return m_p.initialAlpha;
        }
        DcqcnRate copy(*this);
        copy.AdvanceAlpha(now);
        return copy.m_alpha;
    }

    /// True from the first CNP on (with releaseAtLineRate: until the rate is back at line rate).
    bool Limited() const
    {
        return m_active;
    }

  private:
    /// base^n by squaring: the same bits on every machine, and no loop over the periods of a long
    /// idle gap.
    static double Power(double base, int64_t n)
    {
        double result = 1;
        for (; n > 0; n >>= 1, base *= base)
        {
            if (n & 1)
            {
                result *= base;
            }
        }
        return result;
    }

    void Begin(TimePoint now)
    {
        m_active = true;
        m_alpha = m_p.initialAlpha;
        m_alphaUpdated = now;
        m_cnpInAlphaPeriod = false;
        m_firstCnp = now;
    }

    /// Alpha updates due up to and including `now`: the first with the CNP flag, the others without
    /// (eq. 2).
    void AdvanceAlpha(TimePoint now)
    {
        int64_t periods = (now - m_alphaUpdated).ps / m_p.alphaPeriod.ps;
        if (periods <= 0)
        {
            return;
        }
        m_alphaUpdated = m_alphaUpdated + m_p.alphaPeriod * periods;
        if (m_cnpInAlphaPeriod)
        {
            m_alpha = (1 - m_p.g) * m_alpha + m_p.g;
            m_cnpInAlphaPeriod = false;
            --periods;
        }
        m_alpha *= Power(1 - m_p.g, periods);
    }

    void Cut(TimePoint when, Bytes sentSoFar)
    {
        AdvanceAlpha(when);
        if (m_p.clampTargetRate || m_timerStage > 0 || m_byteStage > 0)
        {
            m_target = m_current;
        }
        m_current = std::max(m_minimum, m_current * (1 - m_alpha / 2));
        m_timerStage = 0;
        m_byteStage = 0;
        m_increaseDue = m_p.increaseTimer.ps > 0 ? when + m_p.increaseTimer : kNever;
        // Bytes are known at calls only: those sent between a cut and the call that finds it due
        // are not counted.
        m_byteDue = m_p.byteCounter.value > 0 ? sentSoFar + m_p.byteCounter : kNoBytes;
        m_cutDue = kNever;
        m_lastCut = when;
    }

    /// One increase, eqs. (3), (4) and figure 7. Ends the increases when there is nowhere left to
    /// go.
    void Increase()
    {
        const bool timer = m_p.increaseTimer.ps > 0;
        const bool bytes = m_p.byteCounter.value > 0;
        const uint32_t most = std::max(timer ? m_timerStage : 0, bytes ? m_byteStage : 0);
        const uint32_t least = std::min(timer ? m_timerStage : most, bytes ? m_byteStage : most);
        if (most >= m_p.fastRecoveryThreshold)
        {
            const BitRate step =
                least > m_p.fastRecoveryThreshold ? m_p.hyperIncrease : m_p.additiveIncrease;
            m_target = std::min(m_line, m_target + static_cast<double>(step.bps));
        }
        m_current = (m_current + m_target) / 2;
        const bool stuck = m_p.additiveIncrease.bps == 0 && m_p.hyperIncrease.bps == 0;
        if ((m_target >= m_line || stuck) && m_target - m_current < 0.5)
        {
            m_current = m_target;
            m_increaseDue = kNever;
            m_byteDue = kNoBytes;
            m_active = !(m_p.releaseAtLineRate && m_target >= m_line && m_cutDue == kNever);
        }
    }

    /// Everything due up to and including `now`, in order of time; then the byte counter, at `now`.
    void Advance(TimePoint now, Bytes sentSoFar)
    {
        while (std::min(m_increaseDue, m_cutDue) <= now && m_active)
        {
            if (m_increaseDue <= m_cutDue)
            {
                m_increaseDue = m_increaseDue + m_p.increaseTimer;
                Increase();
                ++m_timerStage;
            }
            else
            {
                Cut(m_cutDue, sentSoFar);
            }
        }
        while (sentSoFar >= m_byteDue && m_active)
        {
            m_byteDue += m_p.byteCounter;
            Increase();
            ++m_byteStage;
        }
    }

    void Refresh()
    {
        m_nextChange = std::min(m_increaseDue, m_cutDue);
        m_nextChangeBytes = m_byteDue;
        m_rate = BitRate(static_cast<uint64_t>(m_current + 0.5));
    }

    // What At reads first.
    TimePoint m_nextChange = kNever;
    Bytes m_nextChangeBytes = kNoBytes;

    DcqcnParameters m_p;
    double m_line;
    double m_minimum;
    double m_current; ///< R_C
    double m_target;  ///< R_T
    double m_alpha;   ///< as of m_alphaUpdated
    BitRate m_rate;   ///< R_C as reported
    bool m_active = false;
    bool m_cnpInAlphaPeriod = false;
    TimePoint m_alphaUpdated;
    TimePoint m_firstCnp; ///< the adapters' periods are counted from here
    TimePoint m_lastCut;
    TimePoint m_cutDue = kNever;
    TimePoint m_increaseDue = kNever;
    Bytes m_byteDue = kNoBytes;
    uint32_t m_timerStage = 0; ///< T
    uint32_t m_byteStage = 0;  ///< BC
};

enum DcqcnPreset
{
    kDcqcnHpcc19Vendor,
    kDcqcnSigcomm15,
    kDcqcnNvidiaNic,
    kDcqcnHpccCode ///< as HPCC's ns-3 code: no CNPs, each ACK echoes its packet's mark instead
};

/// The constants for a port of rate `line`.
inline DcqcnParameters
DcqcnOf(DcqcnPreset preset, BitRate line)
{
    return preset == kDcqcnSigcomm15   ? DcqcnSigcomm15(line)
           : preset == kDcqcnNvidiaNic ? DcqcnNvidiaNic(line)
                                       : DcqcnHpcc19Vendor(line);
}

/// Presets of adapters, with the marking that each was published with. NVIDIA's recommended RoCE
/// configuration of switches: 150 and 1,500 KB at 100 Gb/s, marking probability 100%.
inline std::vector<CongestionPreset>
DcqcnAdapterPresets()
{
    const BitRate port = Gbps(100);
    return {{kDcqcnHpcc19Vendor,
             "hpcc19-vendor",
             "as in HPCC's published run script (SIGCOMM 2019): alpha 1 us, increase 300 us, CNP 4 "
             "us; K 400/1600 kB, Pmax 0.2",
             EcnHpcc19(port)},
            {kDcqcnSigcomm15,
             "sigcomm15",
             "DCQCN's paper, for 40 Gb/s: timers 55 us, CNP 50 us, F = 5, 10 MB, R_AI 40 Mb/s; K "
             "12.5/500 kB, Pmax 0.01",
             EcnSigcomm15(port)},
            {kDcqcnNvidiaNic,
             "nvidia-nic",
             "defaults of NVIDIA adapters (mlxconfig): alpha 1 us, increase 300 us, R_AI 5, R_HAI "
             "50 Mb/s; K 150/1500 kB, Pmax 1",
             {Bytes(150000), Bytes(1500000), 1}}};
}

inline const RegisteredCongestionControl kDcqcn{
    "dcqcn",
    "DCQCN (Zhu et al., SIGCOMM 2015): rate cut on CNPs for ECN-marked packets; RoCE's usual one",
    [] {
        auto presets = DcqcnAdapterPresets();
        presets.push_back(HpccCodePreset(kDcqcnHpccCode));
        return presets;
    }(),
    true};
inline const AnswersEachPacket kDcqcnHpccCodeAnswers{"dcqcn", "hpcc-code"};

} // namespace rdma

#endif // RDMA_CORE_DCQCN_RATE_H
