/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-loss-recovery.h"

#include "go-back-n-recovery.h"
#include "rdma-requester.h"
#include "rdma-responder.h"

#include "ns3/abort.h"
#include "ns3/enum.h"

#include <deque>

namespace ns3
{

// Registry ---------------------------------------------------------------------------------------

namespace
{

/// Schemes by the value of the attribute; made by the first who asks, as objects with static
/// storage come in any order.
struct Registry
{
    Registry()
        : checker(Create<EnumChecker>())
    {
        const RdmaRecoveryScheme goBackN = GoBackNRecovery::GetScheme();
        checker->AddDefault(0, goBackN.name);
        schemes.push_back(goBackN);
    }

    static Registry& Get()
    {
        static Registry registry;
        return registry;
    }

    std::deque<RdmaRecoveryScheme> schemes; //!< they stay where they are
    Ptr<EnumChecker> checker;
};

} // namespace

RdmaLossRecovery::Registered::Registered(RdmaRecoveryScheme scheme)
{
    NS_ABORT_MSG_IF(Find(scheme.name), "two ways to recover from loss are named " << scheme.name);
    Registry& registry = Registry::Get();
    registry.checker->Add(static_cast<int>(registry.schemes.size()), scheme.name);
    registry.schemes.push_back(std::move(scheme));
}

const RdmaRecoveryScheme*
RdmaLossRecovery::Find(const std::string& name)
{
    for (const RdmaRecoveryScheme& scheme : Registry::Get().schemes)
    {
        if (scheme.name == name)
        {
            return &scheme;
        }
    }
    return nullptr;
}

const RdmaRecoveryScheme&
RdmaLossRecovery::GoBackN()
{
    return At(0);
}

const RdmaRecoveryScheme&
RdmaLossRecovery::At(int index)
{
    return Registry::Get().schemes[static_cast<size_t>(index)];
}

std::vector<std::string>
RdmaLossRecovery::GetNames()
{
    std::vector<std::string> names;
    for (const RdmaRecoveryScheme& scheme : Registry::Get().schemes)
    {
        names.push_back(scheme.name);
    }
    return names;
}

Ptr<const AttributeChecker>
RdmaLossRecovery::GetChecker()
{
    return Registry::Get().checker;
}

// What is the same for all who keep nothing ------------------------------------------------------

RdmaLossRecovery::~RdmaLossRecovery() = default;

bool
RdmaLossRecovery::HearsAcks() const
{
    return false;
}

void
RdmaLossRecovery::SendFrom(uint64_t)
{
}

void
RdmaLossRecovery::OnFirstSent(int64_t)
{
}

void
RdmaLossRecovery::OnAcknowledged(RdmaRequester&, int64_t)
{
}

void
RdmaLossRecovery::OnNakAux(RdmaRequester&, uint32_t)
{
}

void
RdmaLossRecovery::OnRefused(RdmaRequester& requester, uint64_t, int64_t, int64_t now)
{
    requester.GoBack(now);
}

void
RdmaLossRecovery::OnSentAgain(uint64_t)
{
}

void
RdmaLossRecovery::ChooseNext(RdmaRequester&)
{
}

int64_t
RdmaLossRecovery::GetTimeout(const RdmaRequester& requester) const
{
    return requester.GetAckTimeout();
}

int64_t
RdmaLossRecovery::GetLeastTimeout(const RdmaRequester& requester) const
{
    return GetTimeout(requester);
}

bool
RdmaLossRecovery::GivesUp(const RdmaRequester& requester, int64_t) const
{
    return requester.GetTimeoutsInRow() > requester.GetRetryCount();
}

RdmaLossRecovery::Response
RdmaLossRecovery::OnResponse(uint64_t psn, uint64_t missing)
{
    return psn == missing ? Response::TAKEN : Response::DROPPED;
}

void
RdmaLossRecovery::OnArrived(uint64_t, uint64_t)
{
}

uint64_t
RdmaLossRecovery::NextMissing(uint64_t from, uint64_t) const
{
    return from;
}

uint64_t
RdmaLossRecovery::RepeatUpTo(uint64_t, uint64_t limit, uint64_t) const
{
    return limit;
}

void
RdmaLossRecovery::OnOutOfOrder(RdmaResponder& responder, uint64_t, RdmaFrame& frame, int64_t now)
{
    responder.DropOutOfOrder(frame, now);
}

bool
RdmaLossRecovery::HasHeld() const
{
    return false;
}

void
RdmaLossRecovery::FillGap(uint64_t, const RdmaFrame&, uint32_t)
{
    NS_ABORT_MSG(GetName() << " keeps no packets");
}

uint64_t
RdmaLossRecovery::Release(uint64_t)
{
    NS_ABORT_MSG(GetName() << " keeps no packets");
}

void
RdmaLossRecovery::Forget(uint64_t)
{
    NS_ABORT_MSG(GetName() << " keeps no packets");
}

const RdmaArrival&
RdmaLossRecovery::GetHeld(uint64_t) const
{
    NS_ABORT_MSG(GetName() << " keeps no packets");
}

} // namespace ns3
