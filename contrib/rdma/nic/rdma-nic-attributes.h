/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_NIC_ATTRIBUTES_H
#define RDMA_NIC_ATTRIBUTES_H

#include "rdma-nic-traces.h"
#include "rdma-path-selector.h"

#include "ns3/data-rate.h"
#include "ns3/nstime.h"
#include "ns3/rdma-port-state.h"

#include <cstdint>
#include <string>

namespace ns3
{

struct RdmaTransportScheme;

/**
 * \ingroup rdma
 * Attributes of a NIC that packets do not touch; those that they do are RdmaNic's, as are the help
 * texts (rdma-nic-attributes.cc).
 */
class RdmaNicAttributes : public RdmaNicTraces
{
  public:
    /// How queue pairs take turns.
    enum Scheduling
    {
        ROUND_ROBIN,
        SCAN //!< RdmaNicScan: HPCC's ns-3 code
    };

    static constexpr uint8_t QUEUE_PAIRS =
        RdmaPortState::PRIORITIES; //!< value of AckPriority: each its queue pair's priority

    /// \return the attribute LossRecovery
    const RdmaTransportScheme& GetTransportScheme() const;

    /// \return the attribute PullRate
    double GetPullRate() const
    {
        return m_pullRate;
    }

    /// The attribute PathSelector. \param name "": none
    void SetPathSelector(std::string name);
    std::string GetPathSelectorName() const;

    /// Reads "a:b,c:d" into a table. \param attribute its full name \return what is wrong
    static std::string ParseMap(const std::string& text,
                                const std::string& attribute,
                                uint8_t* table,
                                uint32_t keys,
                                uint32_t values);

  protected:
    uint32_t m_timeoutExponent;
    uint32_t m_retryCount;
    Time m_nakInterval;
    Time m_cnpDelay;
    Time m_paceJitter;
    uint64_t m_windowBytes;
    uint64_t m_maxRate;
    Time m_baseRtt;
    bool m_variableWindow;
    uint32_t m_headerBytes;
    uint32_t m_flitBytes;
    uint32_t m_leastFrameBytes;
    bool m_extensionHeaders;
    uint32_t m_ackFrameBytes;
    uint32_t m_cnpFrameBytes;
    int m_lossRecovery; //!< RdmaTransportSchemes::At
    Scheduling m_scheduling;
    bool m_ets;
    uint64_t m_bdpCap; //!< packets; 0: not computed yet
    Time m_rtoLow;
    Time m_rtoHigh;
    uint32_t m_rtoLowPackets;
    uint64_t m_firstWindow; //!< packets; 0: the recovery's own
    Time m_creditTimeout;
    Time m_pullTimeout;
    double m_pullRate; //!< part of the line's rate
    uint32_t m_initialPsn;
    uint8_t m_minRnrTimer;
    uint8_t m_rnrRetryCount;
    uint8_t m_maxReads;
    std::string m_serviceLevels;
    std::string m_dscps;
    uint32_t m_qpCacheEntries;
    Time m_qpCacheMissLatency;
    DataRate m_pcieBandwidth;
    uint64_t m_pcieReceiveBuffer;
    uint64_t m_messageRate;
    Ptr<RdmaPathSelector> m_pathSelector; //!< null: queue pairs keep their ways
    std::string m_unknownSelector;        //!< name of one that there is not
};

} // namespace ns3

#endif /* RDMA_NIC_ATTRIBUTES_H */
