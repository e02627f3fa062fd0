/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PORT_FAULTS_H
#define RDMA_PORT_FAULTS_H

#include "ns3/random-variable-stream.h"

#include <cstdint>

namespace ns3
{

/**
 * \ingroup rdma
 * By chance: which frames that arrive at a port have bit errors, and which it drops without a word.
 */
class RdmaPortFaults
{
  public:
    /// \param rate probability of a bit error, of a link that has it from the beginning
    void Start(double rate);
    /// The link may get faults. \param stream first of two random streams
    void Allow(int64_t stream);

    /// \return whether Allow was called
    bool AreAllowed() const
    {
        return PeekPointer(m_drops) != nullptr;
    }

    /// \return number of streams used: those of a link with bit errors from the beginning
    int64_t AssignStreams(int64_t stream);

    double GetBitErrorRate() const
    {
        return m_bitErrorRate;
    }

    /// \pre AreAllowed
    void SetBitErrorRate(double rate)
    {
        m_bitErrorRate = rate;
        m_bitsToError = UNKNOWN; // errors are memoryless
    }

    bool DropsSilently() const
    {
        return m_silentDrops > 0;
    }

    /// \param probability of each frame by itself \pre AreAllowed
    void SetSilentDrops(double probability)
    {
        m_silentDrops = probability;
    }

    /// A frame arrives. \return whether it has bit errors
    bool IsCorrupted(uint32_t bytes);
    /// A frame has arrived. \return whether it is dropped without a word \pre DropsSilently
    bool IsDropped();

    uint32_t lostOnWire{0}; //!< frames under way to the port that were lost with their link

  private:
    static constexpr double UNKNOWN = -1; //!< drawn at the first frame, once streams are assigned

    double m_bitErrorRate{0};
    double m_bitsToError{0};
    Ptr<ExponentialRandomVariable> m_errors;
    double m_silentDrops{0};            //!< probability
    Ptr<UniformRandomVariable> m_drops; //!< null: not allowed
};

} // namespace ns3

#endif /* RDMA_PORT_FAULTS_H */
