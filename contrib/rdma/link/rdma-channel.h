/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_CHANNEL_H
#define RDMA_CHANNEL_H

#include "ns3/channel.h"
#include "ns3/nstime.h"

#include <array>

namespace ns3
{

class RdmaPort;

/**
 * \ingroup rdma
 * A full-duplex cable between two ports: a propagation delay and, optionally, independent bit
 * errors.
 *
 * The channel holds no frames: those in flight are in the receiving port's list (RdmaPort), because
 * a link keeps their order and one pending event a direction is then enough.
 */
class RdmaChannel : public Channel
{
  public:
    static TypeId GetTypeId();

    /// Connect both ends. The attributes must have their final values.
    void Attach(Ptr<RdmaPort> a, Ptr<RdmaPort> b);

    /// \return whether it is attached: its attributes are refused from then on
    bool IsRunning() const
    {
        return m_ports[0] != nullptr;
    }

    std::size_t GetNDevices() const override;
    Ptr<NetDevice> GetDevice(std::size_t i) const override;

    Time GetDelay() const
    {
        return m_delay;
    }

    /// Delay in ps when the resolution of Time is too coarse for it.
    void SetDelayPs(int64_t ps);

    int64_t GetDelayPs() const
    {
        return m_delayPs >= 0 ? m_delayPs : m_delay.GetPicoSeconds();
    }

    double GetBitErrorRate() const
    {
        return m_bitErrorRate;
    }

  protected:
    void DoDispose() override;

  private:
    Time m_delay;
    int64_t m_delayPs{-1};
    double m_bitErrorRate;
    std::array<Ptr<RdmaPort>, 2> m_ports;
};

} // namespace ns3

#endif /* RDMA_CHANNEL_H */
