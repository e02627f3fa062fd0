/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * DCTCP, the sender's side, as a pure window law: told what an ACK acknowledges and whether its
 * packet was marked, it answers with a window.
 *
 * M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1:
 *
 *   once a window of data   alpha = (1 - g) alpha + g F     F: share of the bytes that were marked
 *                                                           eq. (1)
 *   on a mark, at most      W = W (1 - alpha / 2)
 *                           eq. (2)
 *   once a window of data
 *   else                    W grows by a packet a window of data, as TCP's congestion avoidance;
 *                           not in the window after a cut (RFC 8257, 3.3: as RFC 3168's CWR)
 *
 * Theirs is a change to TCP; here the same law moves an RDMA queue pair's window. Instead of slow
 * start a flow begins with a window of the bandwidth-delay product, as RDMA NICs begin at line
 * rate. alpha starts at 1 (RFC 8257, 4.2).
 *
 * In steady state N flows in step keep a queue between Qmax = K + N packets and Qmax - A,
 * A = sqrt(2 N (C RTT + K)) / 2 packets (section 3.3, eqs. 8 and 10; C RTT and K in packets). Marks
 * begin at K > C RTT / 7 (eq. 13) so that the queue never runs empty.
 *
 * Units: bytes.
 */
#ifndef RDMA_CORE_DCTCP_WINDOW_H
#define RDMA_CORE_DCTCP_WINDOW_H

#include "answered-packets.h"
#include "congestion-control.h"
#include "hpcc-code-rates.h"
#include "input-error.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace rdma
{

struct DctcpParameters
{
    double g = 1 / 16.; ///< weight of the last window's share (the paper's 1/16)
    double initialAlpha = 1;
    double packet = 0;        ///< payload of a full one: what a window gains in each window of data
    double initialWindow = 0; ///< and the largest
    double minimumWindow = 0; ///< 0: a packet
};

class DctcpWindow
{
  public:
    /// What is wrong with these constants; the rest is of the network.
    static InputError Error(const DctcpParameters& p)
    {
        if (!(p.g > 0 && p.g <= 1))
        {
            return ErrorAt("G", std::to_string(p.g) + " is not in (0, 1]");
        }
        return {};
    }

    /// Throws std::invalid_argument on constants the law has no meaning for.
    explicit DctcpWindow(const DctcpParameters& parameters)
        : m_p(parameters),
          m_alpha(parameters.initialAlpha),
          m_window(parameters.initialWindow)
    {
        ThrowIf(Error(parameters), "DCTCP");
        if (!(m_p.initialAlpha >= 0 && m_p.initialAlpha <= 1) || m_p.packet <= 0 ||
            m_p.initialWindow <= 0)
        {
            throw std::invalid_argument(
                "DCTCP: alpha must be in [0, 1], packet and window positive");
        }
        if (m_p.minimumWindow <= 0)
        {
            m_p.minimumWindow = std::min(m_p.packet, m_p.initialWindow);
        }
    }

    /// An ACK. \param bytes newly acknowledged \param marked whether it echoes a mark
    /// \param acked position up to which all is acknowledged \param sent position of what is sent
    /// next
    void OnAck(uint64_t bytes, bool marked, uint64_t acked, uint64_t sent)
    {
        m_bytes += bytes;
        m_marked += marked ? bytes : 0;
        if (acked > m_windowEnd && m_bytes > 0) // a window of data is acknowledged: eq. (1)
        {
            const double share = static_cast<double>(m_marked) / static_cast<double>(m_bytes);
            m_alpha = (1 - m_p.g) * m_alpha + m_p.g * share;
            m_bytes = m_marked = 0;
            m_windowEnd = sent;
        }
        if (m_reduced && acked > m_reduceEnd)
        {
            m_reduced = false;
        }
        if (m_reduced)
        {
            return;
        }
        if (marked) // eq. (2)
        {
            m_window = std::max(m_p.minimumWindow, m_window * (1 - m_alpha / 2));
            m_reduced = true;
            m_reduceEnd = sent;
            return;
        }
        m_window = std::min(m_p.initialWindow,
                            m_window + m_p.packet * static_cast<double>(bytes) / m_window);
    }

    double Window() const
    {
        return m_window;
    }

    double Alpha() const
    {
        return m_alpha;
    }

  private:
    DctcpParameters m_p;
    double m_alpha;
    double m_window;
    uint64_t m_bytes = 0;     ///< acknowledged in this window of data
    uint64_t m_marked = 0;    ///< of these
    uint64_t m_windowEnd = 0; ///< alpha changes with what is sent from here on
    uint64_t m_reduceEnd = 0;
    bool m_reduced = false; ///< until something sent after the cut is acknowledged
};

enum DctcpPreset
{
    kDctcpHpcc19,
    kDctcpSigcomm10,
    kDctcpHpccCode ///< DctcpCodeRate
};

/// K of HPCC's run.py (KMIN = KMAX): 30 KB at 10 Gb/s. The paper's: 65 packets of 1,500 B at 10
/// Gb/s (section 3.4).
inline const RegisteredCongestionControl kDctcp{
    "dctcp",
    "DCTCP (Alizadeh et al., SIGCOMM 2010): window cut by the share of ECN-marked packets",
    {{kDctcpHpcc19,
      "hpcc19",
      "DCTCP as its paper has it, g = 1/16, with the marking of HPCC's published run script: K 300 "
      "kB",
      {Bytes(300000), Bytes(300000), 1}},
     {kDctcpSigcomm10,
      "sigcomm10",
      "DCTCP with the marking of its paper: K 975 kB (65 packets of 1,500 B at 10 Gb/s)",
      {Bytes(975000), Bytes(975000), 1}},
     HpccCodePreset(kDctcpHpccCode)},
    true};
inline const AnswersEachPacket kDctcpAnswers{"dctcp"};

} // namespace rdma

#endif // RDMA_CORE_DCTCP_WINDOW_H
