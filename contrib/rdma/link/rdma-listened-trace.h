/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_LISTENED_TRACE_H
#define RDMA_LISTENED_TRACE_H

#include "ns3/traced-callback.h"

#include <string>
#include <utility>

namespace ns3
{

/**
 * \ingroup rdma
 * A trace source that says in a byte whether anybody listens: its callbacks are a cache line that
 * no frame needs otherwise.
 */
template <class... Arguments>
class RdmaListenedTrace
{
  public:
    /// \param listened is kept up to date; outlives this
    explicit RdmaListenedTrace(bool& listened)
        : m_listened(listened)
    {
    }

    void ConnectWithoutContext(const CallbackBase& callback)
    {
        m_callbacks.ConnectWithoutContext(callback);
        Update();
    }

    void Connect(const CallbackBase& callback, std::string path)
    {
        m_callbacks.Connect(callback, std::move(path));
        Update();
    }

    void DisconnectWithoutContext(const CallbackBase& callback)
    {
        m_callbacks.DisconnectWithoutContext(callback);
        Update();
    }

    void Disconnect(const CallbackBase& callback, std::string path)
    {
        m_callbacks.Disconnect(callback, std::move(path));
        Update();
    }

    void operator()(Arguments... arguments) const
    {
        m_callbacks(arguments...);
    }

    /// `listened` is true from now on, whoever listens: the caller has to be called, too.
    void ListenAlways()
    {
        m_always = true;
        Update();
    }

  private:
    void Update()
    {
        m_listened = m_always || !m_callbacks.IsEmpty();
    }

    bool& m_listened;
    bool m_always{false};
    TracedCallback<Arguments...> m_callbacks;
};

} // namespace ns3

#endif /* RDMA_LISTENED_TRACE_H */
