# SPDX-License-Identifier: Apache-2.0
"""The exception classes that a caller of the agent rebuilds, with the one property that matters to a reply:
the constructor formats its message with the keywords (rpc-methods.md section 6.1)."""


class ZunException(Exception):
    message = "An unknown exception occurred."
    code = 500

    def __init__(self, message=None, **kwargs):
        self.kwargs = kwargs
        if message:
            self.message = message
        self.message = self.message % kwargs
        super().__init__(self.message)

    def __str__(self):
        return self.message


def _classes(code, names):
    for name in names.split():
        globals()[name] = type(name, (ZunException,), {"code": code, "__module__": __name__})


_classes(400, "Invalid InvalidValue ImageNotFound Base64Exception PortNotUsable PortInUse VolumeCreateFailed")
_classes(403, "NotAuthorized")
_classes(404, "ContainerNotFound NetworkNotFound PortNotFound VolumeNotFound RegistryNotFound ComputeNodeNotFound")
_classes(409, "Conflict InvalidStateException ExecInstanceAlreadyExists")
_classes(500, "DockerError ResourcesUnavailable OperationNotSupported CommandError ObjectActionError")
