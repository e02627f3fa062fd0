/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * TIMELY and patched TIMELY, the sender's side, as pure rate laws: told a round-trip time for each
 * completed segment, they answer with a rate.
 *
 * R. Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015,
 * algorithm 1, with what the authors' code has beyond it (timely-code-snippet.cc on R. Mittal's
 * page; its text is quoted in public repositories, and erpc-io/eRPC, src/cc/timely.h, derives from
 * it):
 *
 *   rtt_diff = (1 - alpha) rtt_diff + alpha (new_rtt - prev_rtt),   gradient = rtt_diff / minRTT
 *   f = min(1, time since the last sample / minRTT); 1 for the first sample, whose difference is 0
 *   new_rtt < T_low      rate = rate + f delta
 *   new_rtt > T_high     rate = rate (1 - f beta (1 - T_high / new_rtt))
 *   gradient <= 0        rate = rate + f N delta    N = 5 once new_rtt < prev_rtt five times in a
 *                                                   row, else 1 (HAI, 4.3)
 *   else                 rate = rate (1 - beta gradient)
 *   always               at least half the rate before
 *
 * Without `additions` it is algorithm 1 as the paper has it, which is what Zhu et al. (below)
 * analyse in section 4: f = 1, no least rate of a step, hyper increase once the gradient was <= 0
 * five times in a row, and nothing before the second sample.
 *
 * The snippet's constants: alpha 0.02, beta 0.8, T_high 1 ms, delta 10 Mb/s at 10 Gb/s, T_low 50 us
 * for messages of 64 KB (and 0 for packets paced one by one: an attribute). alpha 0.875 and T_high
 * 500 us are those of HPCC's ns-3 code (alibaba-edu/High-Precision-Congestion-Control, rdma-hw.cc:
 * TimelyAlpha, TimelyTHigh), which is a law of its own: TimelyCodeRate in hpcc-code-rates.h.
 *
 * TIMELY has no fixed point: the queue at which the gradient is 0 can be any. The patch (Y. Zhu et
 * al., "ECN or Delay: Lessons Learnt from Analysis of DCQCN and TIMELY", CoNEXT 2016, section 4.3,
 * algorithm 2) adds one, between T_low and T_high, to algorithm 1 as the papers have it, so without
 * f, the floor and hyper increase:
 *
 *   error = (new_rtt - RTT_ref) / RTT_ref
 *   w = 0, 2 gradient + 1/2, 1           for gradient <= -1/4, between, >= 1/4
 *   rate = delta (1 - w) + rate (1 - beta w error),   beta = 0.008
 *
 * With RTT_ref at T_low, N flows on a link C rest at error = N delta / (beta C): there gradient = 0
 * and w = 1/2.
 *
 * Units: picoseconds, bits per second.
 */
#ifndef RDMA_CORE_TIMELY_RATE_H
#define RDMA_CORE_TIMELY_RATE_H

#include "added-bytes.h"
#include "answered-packets.h"
#include "congestion-control.h"
#include "hpcc-code-rates.h"
#include "input-error.h"
#include "unit-strings.h"
#include "units.h"

#include <algorithm>
#include <cstdint>

namespace rdma
{

struct TimelyParameters
{
    bool patched = false;
    bool additions = true; ///< what the snippet has beyond algorithm 1; not of the patched one
    double alpha = 0.02;   ///< weight of the newest difference; CONEXT16: 0.875
    double beta = 0.8;     ///< 0.008 if patched
    BitRate delta = Mbps(10);
    Duration tLow = Microseconds(50);
    Duration tHigh = Milliseconds(1);   ///< CONEXT16: 500 us
    Duration minRtt = Microseconds(20); ///< the network's least; assumed
    Duration rttReference{0};           ///< patched; 0: tLow
    uint32_t hyperAfter = 5;            ///< shorter round trips in a row
    uint32_t hyperFactor = 5;           ///< N
    BitRate minimumRate = Mbps(10);     ///< optional in the snippet; assumed: delta
};

/// The constants of the patch. alpha and T_high as HPCC's code has them for TIMELY: assumed of the
/// paper, whose table could not be opened.
inline TimelyParameters
TimelyConext16()
{
    TimelyParameters p;
    p.patched = true;
    p.alpha = 0.875;
    p.beta = 0.008;
    p.tHigh = Microseconds(500);
    return p;
}

class TimelyRate
{
  public:
    /// What is wrong with these constants.
    static InputError Error(const TimelyParameters& p)
    {
        if (!(p.alpha > 0 && p.alpha <= 1))
        {
            return ErrorAt("Alpha", std::to_string(p.alpha) + " is not in (0, 1]");
        }
        if (!(p.beta > 0 && p.beta <= 1))
        {
            return ErrorAt("Beta", std::to_string(p.beta) + " is not in (0, 1]");
        }
        if (p.minRtt.ps <= 0)
        {
            return ErrorAt("MinRtt", ToString(p.minRtt) + " is not above 0");
        }
        if (p.tLow.ps < 0)
        {
            return ErrorAt("TLow", ToString(p.tLow) + " is negative");
        }
        if (p.tHigh < p.tLow)
        {
            return ErrorAt("TLow", ToString(p.tLow) + " is above THigh, " + ToString(p.tHigh));
        }
        if (p.patched && p.rttReference.ps <= 0 && p.tLow.ps == 0)
        {
            return ErrorAt("RttReference",
                           "0 stands for TLow, which is 0 as well: there is no reference");
        }
        return {};
    }

    /// Starts at line rate. Throws std::invalid_argument on constants the law has no meaning for.
    TimelyRate(const TimelyParameters& parameters, BitRate line)
        : m_p(parameters),
          m_line(static_cast<double>(line.bps)),
          m_rate(m_line)
    {
        ThrowIf(Error(parameters), "TIMELY");
        if (line.bps == 0)
        {
            throw std::invalid_argument("TIMELY: the line rate is zero");
        }
        m_p.rttReference = m_p.rttReference.ps > 0 ? m_p.rttReference : m_p.tLow;
    }

    /// A segment is complete.
    void OnRtt(Duration rtt, TimePoint now)
    {
        const double time = static_cast<double>(rtt.ps);
        const bool first = m_previous < 0;
        const double difference = first ? 0 : time - m_previous;
        m_previous = time;
        m_difference = (1 - m_p.alpha) * m_difference + m_p.alpha * difference;
        const double minRtt = static_cast<double>(m_p.minRtt.ps);
        const double gradient = m_difference / minRtt;
        const bool snippet = m_p.additions && !m_p.patched;
        m_shorter = (snippet ? difference < 0 : !first && gradient <= 0) ? m_shorter + 1 : 0;
        const double factor =
            !snippet || first ? 1 : std::min(1.0, static_cast<double>((now - m_last).ps) / minRtt);
        m_last = now;
        if (!snippet && first) // no difference yet
        {
            return;
        }
        const double before = m_rate;
        const double delta = static_cast<double>(m_p.delta.bps);
        if (rtt < m_p.tLow)
        {
            m_rate += factor * delta;
        }
        else if (rtt > m_p.tHigh)
        {
            m_rate *= 1 - factor * m_p.beta * (1 - static_cast<double>(m_p.tHigh.ps) / time);
        }
        else if (m_p.patched)
        {
            const double w = std::clamp(2 * gradient + 0.5, 0.0, 1.0);
            const double reference = static_cast<double>(m_p.rttReference.ps);
            m_rate = delta * (1 - w) + m_rate * (1 - m_p.beta * w * (time - reference) / reference);
        }
        else if (gradient <= 0)
        {
            m_rate += factor * delta * (m_shorter >= m_p.hyperAfter ? m_p.hyperFactor : 1);
        }
        else
        {
            m_rate *= 1 - m_p.beta * gradient;
        }
        m_rate = snippet ? std::max(m_rate, before / 2) : m_rate;
        m_rate =
            std::clamp(m_rate, std::min(m_line, static_cast<double>(m_p.minimumRate.bps)), m_line);
    }

    /// Bits per second.
    double Rate() const
    {
        return m_rate;
    }

  private:
    TimelyParameters m_p;
    double m_line;
    double m_rate;
    double m_previous = -1;  ///< prev_rtt, ps; -1: none
    double m_difference = 0; ///< rtt_diff, ps
    TimePoint m_last;        ///< of the last sample
    uint32_t m_shorter =
        0; ///< samples in a row, each shorter than the one before; algorithm 1: of gradient <= 0
};

enum TimelyPreset
{
    kTimely15,       ///< the authors' code; without its additions the paper's algorithm 1
    kTimelyConext16, ///< patched
    kTimelyHpccCode  ///< TimelyCodeRate
};

/// The constants, but those that follow from the line rate.
inline TimelyParameters
TimelyOf(TimelyPreset preset)
{
    TimelyParameters p = preset == kTimely15 ? TimelyParameters() : TimelyConext16();
    if (preset == kTimelyHpccCode)
    {
        p.patched = false;
        p.beta = 0.8;
    }
    return p;
}

constexpr uint32_t kTimelyStampBytes = 8; ///< of a data packet in HPCC's code

inline const RegisteredCongestionControl kTimely{
    "timely",
    "TIMELY (Mittal et al., SIGCOMM 2015): rate by the gradient of round-trip times",
    {{kTimely15,
      "timely15",
      "as in the TIMELY authors' code: alpha 0.02, T_low 50 us, T_high 1 ms, delta line rate / "
      "1000, beta 0.8, cuts to half at most",
      EcnHpcc19(Gbps(100))},
     {kTimelyConext16,
      "conext16",
      "patched TIMELY (Zhu et al., CoNEXT 2016): with a fixed point; alpha 0.875, T_high 500 us, "
      "beta 0.008",
      EcnHpcc19(Gbps(100))},
     HpccCodePreset(kTimelyHpccCode)}};
inline const AnswersEachPacket kTimelyAnswers{"timely"};
inline const AddsToData kTimelyAdds{"timely", kTimelyStampBytes, kTimely.presets.back().name};

} // namespace rdma

#endif // RDMA_CORE_TIMELY_RATE_H
