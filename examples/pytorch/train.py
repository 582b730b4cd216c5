"""PyTorch on one device. It resumes, so that a search pays only for the epochs that it wants."""
import os
import torch
import winnow_trainer as winnow
values = winnow.hyperparameters()
torch.manual_seed(1)
inputs = torch.randn(512, 16)
wanted = torch.sin(inputs.sum(1, keepdim=True))
device = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Sequential(torch.nn.Linear(16, values.get("width", 32)), torch.nn.Tanh(),
                            torch.nn.Linear(values.get("width", 32), 1)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=values.get("lr", 0.01))
inputs, wanted, first = inputs.to(device), wanted.to(device), 1
if state := winnow.resume():
    saved = torch.load(os.path.join(state[0], "last.pt"), map_location=device)
    model.load_state_dict(saved["model"]), optimizer.load_state_dict(saved["optimizer"])
    first = saved["epoch"] + 1
    winnow.report(saved["epoch"], loss=saved["loss"])  # again: if its worker was killed, it may not have arrived
draft = os.path.join(os.environ.get("SM_OUTPUT_DATA_DIR", "."), "last.pt")
for epoch in range(first, 28):
    if winnow.should_stop():
        break
    loss = torch.nn.functional.mse_loss(model(inputs), wanted)
    optimizer.zero_grad(), loss.backward(), optimizer.step()
    state = {"epoch": epoch, "loss": loss.item(), "model": model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, draft)
    winnow.save(draft)
    winnow.report(epoch, loss=loss.item())
