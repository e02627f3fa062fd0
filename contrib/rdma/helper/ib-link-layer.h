/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IB_LINK_LAYER_H
#define IB_LINK_LAYER_H

#include "ib-subnet-helper.h"
#include "rdma-link-layer.h"

namespace ns3
{

/**
 * \ingroup rdma
 * InfiniBand: IbSwitch, credits, and ways as a subnet manager has them.
 *
 * When a link goes down the cable fails for the subnet manager; what is on it or queued for it
 * still arrives.
 */
class IbLinkLayer : public RdmaLinkLayer
{
  public:
    explicit IbLinkLayer(const IbFabricConfig& config);

    /// \return the subnet manager of a fabric; null: it has none, being not InfiniBand
    static IbSubnetHelper* GetSubnet(const RdmaFabric& fabric);

    const rdma::LinkWords& GetWords() const override;
    TypeId GetSwitchType() const override;
    void SetFrameSizes(ObjectFactory& nic, ObjectFactory& port) const override;
    Marking GetMarking(const RdmaSwitchBase& device) const override;
    std::string Start(RdmaFabric& fabric, int64_t stream) override;
    uint16_t GetNextPort(const RdmaFabric& fabric, uint32_t node, uint32_t endpoint) const override;
    uint16_t GetPortOfFlow(const RdmaFabric& fabric,
                           uint32_t node,
                           uint32_t endpoint,
                           uint32_t flowHash) const override;
    std::string SetLinkDown(RdmaFabric& fabric, uint32_t link, bool down) override;
    std::string Reroute(RdmaFabric& fabric) override;
    void Configure(RdmaFabric& fabric, uint32_t node) override;

    bool HasCredits() const override
    {
        return true;
    }

    std::string DescribeDestination(const RdmaFabric& fabric,
                                    const RdmaFrame& frame) const override;
    std::vector<std::string> GetNotes() const override;
    std::unique_ptr<RdmaCaptureEncoder> MakeCaptureEncoder(const RdmaFabric& fabric) const override;

  private:
    std::string Route(const RdmaFabric& fabric);
    std::string StartNics(RdmaFabric& fabric);
    std::string StartCredits(RdmaFabric& fabric);
    /// The tables of all switches, and the choices of their load balancers.
    void ConfigureSwitches(RdmaFabric& fabric);

    IbFabricConfig m_config;
    IbSubnetHelper m_subnet;
};

} // namespace ns3

#endif /* IB_LINK_LAYER_H */
